#include "server/http_server.h"

#include "base/error.h"
#include "base/start_thread.h"
#include "server/http_answer.h"
#include "server/http_outbox.h"
#include "server/http_request_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>  // Boost 1.74 needs it and forgets it.
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sluice::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

// Of what the client sends while it is being answered, which is the beginning of its next request.
constexpr size_t kReadAheadBytes = size_t{64} << 10;
// Connections over the limit that are told so; yet more are closed without a word.
constexpr size_t kTurnedAwayMax = 64;
// Between attempts to accept a connection when the system has no file descriptor left.
constexpr Nanos kAcceptPause = std::chrono::milliseconds(50);

}  // namespace

/// What all connections share. Its thread alone touches it, but for what is said to be for others.
struct HttpServer::Impl {
  class Connection;

  Impl(const HttpLimits& wanted, Refusal refuse, Handler handle)
      : limits(wanted), refusal(std::move(refuse)), handler(std::move(handle)) {}

  void listen(const std::string& host, uint16_t port);
  void accept();
  void on_accept(error_code error, tcp::socket socket);
  void stop();
  void close_all();
  void remove(const Connection* connection);
  void check_answered();

  const HttpLimits limits;
  const Refusal refusal;
  const Handler handler;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_timer{io};
  std::vector<std::unique_ptr<Connection>> connections{};
  uint64_t held_bytes = 0;  // Of all requests that are there.
  bool stopping = false;    // No request is begun any more,
  bool closing = false;     // and those under way are given up.
  uint16_t bound_port = 0;
  std::thread thread{};

  // For other threads.
  std::mutex mutex;
  std::condition_variable answered;
  bool all_answered = false;  // And no more will be asked.
};

/// One client: reads a request, lets a thread of its own answer it, sends the answer, and so on.
/// Reading goes on while a request is answered, for that tells when the client has gone.
class HttpServer::Impl::Connection {
 public:
  Connection(Impl& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), timer_(socket_.get_executor()) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
  }

  void start() { begin_request(); }
  void turn_away() { refuse({.status = 503, .message = "the server has too many connections"}); }
  /// Nothing has been asked yet, or not to the end.
  [[nodiscard]] bool waits_for_request() const {
    return state_ == State::kIdle || state_ == State::kReading;
  }
  [[nodiscard]] bool is_answering() const { return state_ == State::kAnswering; }
  [[nodiscard]] size_t held_bytes() const { return held_; }
  void close();

 private:
  enum class State : uint8_t {
    kIdle,       // No byte of a request yet.
    kReading,    // Some of its bytes.
    kAnswering,  // All of it, or enough to refuse it.
    kLeaving,    // All is sent; the client may be sending yet.
    kClosed,
  };

  // Wraps what is called at the end of an operation, so that the connection lives until then.
  template <class Step>
  auto counted(Step step) {
    ++pending_;
    return [this, step](auto... results) {
      step(results...);
      if (--pending_ == 0 && state_ == State::kClosed && !thread_.joinable()) server_.remove(this);
    };
  }

  void begin_request();
  void hold(size_t bytes);
  void read();
  void on_read(error_code error, size_t bytes);
  void go_on();
  void parse();
  void dispatch();
  void refuse(const HttpRefusal& why);
  void wake();
  void flush();
  void write();
  void on_written(error_code error, size_t bytes);
  void on_answered(bool keep_alive);
  void leave();
  void set_deadline(Clock::time_point deadline);
  void clear_deadline();
  void on_deadline();

  Impl& server_;
  tcp::socket socket_;
  asio::steady_timer timer_;
  std::atomic<uint32_t> pending_ = 0;  // Operations that will call back.
  State state_ = State::kIdle;

  std::array<char, size_t{16} << 10> chunk_;
  std::string received_{};  // What the reader has not taken.
  bool reading_ = false;
  bool ended_ = false;  // The client sends nothing more.
  std::optional<HttpRequestReader> reader_{};
  size_t held_ = 0;            // Bytes of the request.
  Clock::time_point began_{};  // The request.

  HttpOutbox outbox_{server_.limits.unsent_bytes, [this] { wake(); }};
  std::string sending_{};
  size_t sent_ = 0;       // Bytes of it.
  bool last_ = false;     // It ends the answer.
  bool keep_ = false;     // Another request may follow.
  std::thread thread_{};  // Of the handler.
};

// So many bytes of its request.
void HttpServer::Impl::Connection::hold(size_t bytes) {
  server_.held_bytes += bytes;
  server_.held_bytes -= std::exchange(held_, bytes);
}

void HttpServer::Impl::Connection::begin_request() {
  state_ = State::kIdle;
  hold(0);
  reader_.emplace(HttpRequestReader::Limits{.body_bytes = server_.limits.body_bytes,
                                            .header_bytes = server_.limits.header_bytes});
  set_deadline(Clock::now() + server_.limits.idle_time);
  go_on();
}

void HttpServer::Impl::Connection::read() {
  if (reading_ || ended_) return;
  if (state_ == State::kAnswering && received_.size() >= kReadAheadBytes) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_), counted([this](error_code error, size_t bytes) {
                            on_read(error, bytes);
                          }));
}

void HttpServer::Impl::Connection::on_read(error_code error, size_t bytes) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (error && error != asio::error::eof) return close();
  ended_ = error == asio::error::eof;
  if (state_ != State::kLeaving) received_.append(chunk_.data(), bytes);
  go_on();
}

void HttpServer::Impl::Connection::go_on() {
  switch (state_) {
    case State::kIdle:
    case State::kReading:
      return parse();
    case State::kAnswering:
      return ended_ ? outbox_.set_gone() : read();
    case State::kLeaving:
      return ended_ ? close() : read();
    case State::kClosed:
      return;
  }
}

void HttpServer::Impl::Connection::parse() {
  if (state_ == State::kIdle) {
    if (received_.empty()) return ended_ ? close() : read();
    state_ = State::kReading;
    began_ = Clock::now();
    set_deadline(began_ + server_.limits.header_time);
  }
  const bool had_head = reader_->head_read();
  const size_t taken = reader_->take(received_);
  received_.erase(0, taken);
  hold(held_ + taken);
  if (reader_->refusal()) return refuse(*reader_->refusal());
  if (server_.held_bytes > server_.limits.all_bodies_bytes) {
    return refuse(
        {.status = 503, .message = "the server holds too many large requests; try later"});
  }
  if (reader_->done()) return dispatch();
  if (ended_) return refuse({.status = 400, .message = "the request ends before it is whole"});
  if (!had_head && reader_->head_read()) {
    set_deadline(began_ + server_.limits.body_time);
    if (reader_->expects_continue()) outbox_.put("HTTP/1.1 100 Continue\r\n\r\n");
  }
  read();
}

void HttpServer::Impl::Connection::dispatch() {
  state_ = State::kAnswering;
  clear_deadline();
  const HttpRequest& request = reader_->request();
  const HttpAnswer::Form form{.head_only = request.method == "HEAD",
                              .takes_chunks = reader_->takes_chunks(),
                              .keep_alive = reader_->keep_alive() && !server_.stopping};
  std::error_code error;
  thread_ = start_thread(
      [this, &request, form] {
        HttpAnswer answer(outbox_, form);
        server_.handler(request, answer);
        if (answer.untouched()) {
          answer.send({.status = 500, .body = server_.refusal(500, "the request got no answer")});
        }
        answer.finish();
      },
      error);
  if (error) return refuse({.status = 503, .message = "the system refused a thread; try later"});
  go_on();
}

void HttpServer::Impl::Connection::refuse(const HttpRefusal& why) {
  state_ = State::kAnswering;
  clear_deadline();
  HttpAnswer answer(outbox_, {});
  answer.send({.status = why.status, .body = server_.refusal(why.status, why.message)});
  answer.finish();
}

// The one thing that is called by the handler's thread.
void HttpServer::Impl::Connection::wake() {
  asio::post(server_.io, counted([this] { flush(); }));
}

void HttpServer::Impl::Connection::flush() {
  if (sent_ < sending_.size()) return;  // on_written() comes back here.
  HttpOutbox::Batch batch = outbox_.take();
  sending_ = std::move(batch.bytes);
  sent_ = 0;
  last_ = batch.last;
  keep_ = batch.keep_alive;
  if (!sending_.empty() && state_ != State::kClosed) return write();
  sending_.clear();
  if (last_) on_answered(keep_);
}

void HttpServer::Impl::Connection::write() {
  if (state_ == State::kAnswering) set_deadline(Clock::now() + server_.limits.write_time);
  socket_.async_write_some(
      asio::buffer(sending_) + sent_,
      counted([this](error_code error, size_t bytes) { on_written(error, bytes); }));
}

void HttpServer::Impl::Connection::on_written(error_code error, size_t bytes) {
  if (error && state_ != State::kClosed) close();
  outbox_.sent(bytes);
  sent_ = state_ == State::kClosed ? sending_.size() : sent_ + bytes;
  if (sent_ < sending_.size()) return write();
  if (state_ == State::kAnswering) clear_deadline();
  if (last_) return on_answered(keep_);
  flush();
}

void HttpServer::Impl::Connection::on_answered(bool keep_alive) {
  last_ = false;
  if (thread_.joinable()) thread_.join();  // It has nothing left to do.
  if (state_ == State::kClosed) return;
  if (keep_alive && !server_.stopping) return begin_request();
  leave();
  server_.check_answered();
}

// A connection that is closed while the client sends would lose what it has not read of the answer.
void HttpServer::Impl::Connection::leave() {
  state_ = State::kLeaving;
  reader_.reset();
  hold(0);
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  received_.clear();
  set_deadline(Clock::now() + server_.limits.header_time);
  go_on();
}

void HttpServer::Impl::Connection::close() {
  state_ = State::kClosed;
  error_code ignored;
  socket_.close(ignored);
  clear_deadline();
  outbox_.close();
  server_.check_answered();
}

void HttpServer::Impl::Connection::set_deadline(Clock::time_point deadline) {
  timer_.expires_at(deadline);
  timer_.async_wait(counted([this](error_code error) {
    // A wait that had just ended when the deadline was moved is not told so.
    if (!error && timer_.expiry() <= Clock::now()) on_deadline();
  }));
}

void HttpServer::Impl::Connection::clear_deadline() { timer_.expires_at(Clock::time_point::max()); }

void HttpServer::Impl::Connection::on_deadline() {
  if (state_ != State::kReading) return close();
  refuse({.status = 408,
          .message = reader_->head_read() ? "the body of the request took too long to arrive"
                                          : "the head of the request took too long to arrive"});
}

HttpServer::HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits,
                       Refusal refusal, Handler handler)
    : impl_(std::make_unique<Impl>(limits, std::move(refusal), std::move(handler))) {
  impl_->listen(host, port);
  impl_->accept();
  impl_->thread = start_thread([impl = impl_.get()] { impl->io.run(); });
}

HttpServer::~HttpServer() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->close_all(); });
  impl_->thread.join();
}

uint16_t HttpServer::port() const { return impl_->bound_port; }

void HttpServer::stop_accepting() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->stop(); });
}

bool HttpServer::wait_until_answered(Nanos timeout) {
  std::unique_lock lock(impl_->mutex);
  return impl_->answered.wait_for(lock, timeout, [this] { return impl_->all_answered; });
}

void HttpServer::Impl::listen(const std::string& host, uint16_t port) {
  error_code error;
  const auto found =
      tcp::resolver(io).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error) {
    throw Error(ErrorCode::kInvalidInput,
                "--host {}: {}; give an address of this machine, such as 127.0.0.1", host,
                error.message());
  }
  // Of a name like localhost, programs that try one address only try that of IPv4.
  const auto is_v4 = [](const auto& entry) { return entry.endpoint().address().is_v4(); };
  const auto v4 = std::find_if(found.begin(), found.end(), is_v4);
  const tcp::endpoint endpoint = (v4 != found.end() ? v4 : found.begin())->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && !is_v4(*found.begin())) acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    const char* remedy = "give an address of this machine as --host";
    if (error == asio::error::address_in_use) {
      remedy = "another program uses the port; give another one as --port, or 0 for any";
    } else if (error == asio::error::access_denied) {
      remedy = "give a --port from 1024 on";
    }
    throw Error(ErrorCode::kIo, "cannot listen on {}:{}: {}; {}", host, port, error.message(),
                remedy);
  }
  bound_port = acceptor.local_endpoint().port();
}

void HttpServer::Impl::accept() {
  acceptor.async_accept(
      [this](error_code error, tcp::socket socket) { on_accept(error, std::move(socket)); });
}

void HttpServer::Impl::on_accept(error_code error, tcp::socket socket) {
  if (stopping) return;
  if (error) {
    accept_timer.expires_after(kAcceptPause);
    return accept_timer.async_wait([this](error_code) {
      if (!stopping) accept();
    });
  }
  const size_t others = connections.size();
  if (others < limits.connections + kTurnedAwayMax) {
    Connection& connection =
        *connections.emplace_back(std::make_unique<Connection>(*this, std::move(socket)));
    if (others < limits.connections) {
      connection.start();
    } else {
      connection.turn_away();
    }
  }
  accept();
}

void HttpServer::Impl::stop() {
  stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  accept_timer.cancel();
  for (const auto& connection : connections) {
    if (connection->waits_for_request()) connection->close();
  }
  check_answered();
}

void HttpServer::Impl::check_answered() {
  const auto is_answering = [](const auto& connection) { return connection->is_answering(); };
  if (!stopping || std::ranges::any_of(connections, is_answering)) return;
  const std::lock_guard lock(mutex);
  all_answered = true;
  answered.notify_all();
}

void HttpServer::Impl::close_all() {
  stop();
  closing = true;
  for (const auto& connection : connections) connection->close();
  if (connections.empty()) work.reset();
}

void HttpServer::Impl::remove(const Connection* connection) {
  held_bytes -= connection->held_bytes();
  std::erase_if(connections, [&](const auto& other) { return other.get() == connection; });
  if (closing && connections.empty()) work.reset();
}

}  // namespace sluice::server
