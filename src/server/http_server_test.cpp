// Without these tests a client that is slow, hostile or gone could hold the server up, be told
// nothing, or go on being answered.
#include "server/http_server.h"

#include "base/test_refusal.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// After this long a test is given up.
constexpr milliseconds kPatience = seconds(30);

/// A client that sends and reads bytes.
class Client {
 public:
  explicit Client(const HttpServer& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int failed =
        ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    EXPECT_EQ(failed, 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False once the server takes nothing more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(socket_, SHUT_WR); }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }

  [[nodiscard]] bool readable(milliseconds timeout) const {
    pollfd poll{.fd = socket_, .events = POLLIN, .revents = 0};
    return ::poll(&poll, 1, static_cast<int>(timeout.count())) > 0;
  }
  /// Reads until `what` has come; all that came before it and with it, or up to the end.
  std::string read_until(std::string_view what) {
    while (received_.find(what) == std::string::npos && read_some()) {
    }
    const size_t at = received_.find(what);
    const size_t size = at == std::string::npos ? received_.size() : at + what.size();
    std::string read = received_.substr(0, size);
    received_.erase(0, size);
    return read;
  }
  std::string read_to_end() {
    while (read_some()) {
    }
    return std::exchange(received_, {});
  }
  /// An answer with a Content-Length: its head, and then its body.
  std::pair<std::string, std::string> read_answer() {
    std::string head = read_until("\r\n\r\n");
    const std::string_view name = "Content-Length: ";
    const size_t length = head.find(name);
    if (length == std::string::npos) return {head, {}};
    const size_t size = std::stoul(head.substr(length + name.size()));
    while (received_.size() < size && read_some()) {
    }
    std::string body = received_.substr(0, size);
    received_.erase(0, size);
    return {head, body};
  }

 private:
  bool read_some() {
    if (!readable(kPatience)) {
      ADD_FAILURE() << "nothing came";
      return false;
    }
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count > 0) received_.append(bytes, static_cast<size_t>(count));
    return count > 0;
  }

  int socket_;
  std::string received_{};
};

int status_of(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 ") ? std::stoi(std::string(answer.substr(9, 3))) : 0;
}

// Answers with what it was asked.
void echo(const HttpRequest& request, HttpReply& reply) {
  reply.send({.type = "text/plain",
              .body = fmt::format("{} {} {}", request.method, request.path, request.body)});
}

// For a handler: until the client has gone, or the test is given up.
bool wait_until_gone(const HttpReply& reply) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!reply.gone()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

HttpServer make_server(HttpServer::Handler handler = echo, const HttpLimits& limits = {}) {
  return HttpServer(
      "127.0.0.1", 0, limits,
      [](int status, std::string_view message) { return fmt::format("{}: {}", status, message); },
      std::move(handler));
}

const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(HttpServer, AnswersOneRequestAfterTheOther) {
  const HttpServer server = make_server();
  Client client(server);
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none");
  EXPECT_EQ(client.read_answer().second, "POST /a one");
  client.send(
      "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"
      "GET /c HTTP/1.1\r\nHost: a\r\n\r\nGET /d HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_answer().second, "POST /b two");
  EXPECT_EQ(client.read_answer().second, "GET /c ");
  const auto [head, body] = client.read_answer();
  EXPECT_EQ(body, "GET /d ");
  EXPECT_EQ(head,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, AnswersWithoutABody) {
  const HttpServer server = make_server([](const HttpRequest& request, HttpReply& reply) {
    if (request.path == "/stream") {
      reply.begin({.body = "one"});
      return reply.write("two");
    }
    reply.send({.status = request.path == "/204" ? 204 : 200, .body = "body"});
  });
  Client client(server);
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("Content-Length: 4\r\n"), std::string::npos);
  client.send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("chunked"), std::string::npos);
  client.send("OPTIONS /204 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_to_end(), "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST(HttpServer, StreamsInChunksOrToTheEnd) {
  const HttpServer server = make_server([](const HttpRequest& request, HttpReply& reply) {
    reply.begin({.type = "text/plain", .body = "one", .headers = {{"X-Two", "2"}}});
    reply.write("");
    reply.write("three");
    if (request.path == "/cut") reply.cut();
  });
  Client client(server);
  client.send(kGet);
  EXPECT_EQ(client.read_until("0\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n"
            "X-Two: 2\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n");
  client.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().ends_with("5\r\nthree\r\n"));

  Client old(server);
  old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.read_to_end(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Two: 2\r\nConnection: close\r\n\r\n"
            "onethree");
}

TEST(HttpServer, AsksForABodyThatItWillTake) {
  const HttpServer server = make_server(echo, {.body_bytes = 8});
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ";
  Client client(server);
  client.send(head + "2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_EQ(client.read_answer().second, "POST / ab");
  client.send(head + "9\r\n\r\n");
  EXPECT_EQ(status_of(client.read_to_end()), 413);
}

TEST(HttpServer, RefusesAndCloses) {
  std::atomic<int> handled = 0;
  const HttpServer server = make_server(
      [&](const HttpRequest&, HttpReply& reply) {
        ++handled;
        reply.send({});
      },
      {.body_bytes = 8, .header_bytes = 100});
  const std::vector<std::pair<std::string, int>> cases = {
      {"hello\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", 413},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(200, 'x') + "\r\n\r\n", 431},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      // What else such a client sends is not taken for a request, but may be long.
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n" + std::string(9000000, 'x'),
       413},
  };
  for (const auto& [bytes, status] : cases) {
    Client client(server);
    client.send(bytes + kGet);
    const std::string answer = client.read_to_end();
    EXPECT_EQ(status_of(answer), status) << bytes.substr(0, 100);
    EXPECT_NE(answer.find(fmt::format("\r\n\r\n{}: ", status)), std::string::npos) << answer;
    EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos) << answer;
  }
  EXPECT_EQ(handled, 0);
}

TEST(HttpServer, RefusesWhatEndsEarly) {
  const HttpServer server = make_server();
  Client client(server);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  client.end_sending();
  EXPECT_EQ(status_of(client.read_to_end()), 400);
}

// Sends single bytes for as long as the server takes them.
std::string answer_to_drip(Client& client) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!client.readable(milliseconds(2)) && std::chrono::steady_clock::now() < end) {
    client.send("x");
  }
  return client.read_to_end();
}

TEST(HttpServer, SlowRequestsDoNotExtendTheirTime) {
  const HttpServer server =
      make_server(echo, {.header_time = milliseconds(100), .body_time = milliseconds(200)});
  Client head(server);
  head.send("GET /");
  EXPECT_EQ(status_of(answer_to_drip(head)), 408);
  Client body(server);
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(status_of(answer_to_drip(body)), 408);
}

TEST(HttpServer, IdleConnectionsAreClosed) {
  const HttpServer server = make_server(echo, {.idle_time = milliseconds(50)});
  Client silent(server);
  EXPECT_EQ(silent.read_to_end(), "");
  Client answered(server);
  answered.send(kGet);
  EXPECT_EQ(answered.read_answer().second, "GET / ");
  EXPECT_EQ(answered.read_to_end(), "");
}

TEST(HttpServer, NoticesThatTheClientHasGone) {
  const std::vector<std::pair<std::string_view, void (*)(Client&)>> ways = {
      {"closed", [](Client& client) { client.close(); }},
      {"reset", [](Client& client) { client.reset(); }},
      {"half closed", [](Client& client) { client.end_sending(); }},
      {"closed behind another request",
       [](Client& client) {
         client.send(kGet);
         client.close();
       }},
  };
  for (const auto& [name, leave] : ways) {
    for (const bool streams : {false, true}) {
      std::promise<bool> noticed;
      std::atomic<bool> first = true;
      const HttpServer server = make_server([&](const HttpRequest&, HttpReply& reply) {
        if (!first.exchange(false)) return;
        if (streams) reply.begin({});
        noticed.set_value(wait_until_gone(reply));
      });
      Client client(server);
      client.send(kGet);
      if (streams) client.read_until("\r\n\r\n");
      leave(client);
      EXPECT_TRUE(noticed.get_future().get()) << name;
    }
  }
}

TEST(HttpServer, AnswersAClientThatOnlyListens) {
  const HttpServer server = make_server();
  Client client(server);
  client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
  client.end_sending();
  EXPECT_EQ(client.read_answer().second, "GET /a ");
  EXPECT_EQ(client.read_answer().second, "GET /b ");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, WaitsForAClientThatReadsSlowly) {
  const std::string part(size_t{64} << 10, 'p');
  constexpr int kParts = 1000;  // More than all the buffers between the two hold.
  std::atomic<int> written = 0;
  const HttpServer server = make_server(
      [&](const HttpRequest&, HttpReply& reply) {
        reply.begin({});
        for (written = 0; written < kParts; ++written) reply.write(part);
      },
      {.unsent_bytes = part.size()});
  Client client(server);
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.read_until("\r\n\r\n");
  EXPECT_LT(written, kParts);
  EXPECT_EQ(client.read_to_end().size(), kParts * part.size());
  EXPECT_EQ(written, kParts);
}

TEST(HttpServer, GivesUpAClientThatReadsNothing) {
  std::promise<bool> noticed;
  const HttpServer server = make_server(
      [&](const HttpRequest&, HttpReply& reply) {
        reply.begin({});
        const std::string part(size_t{1} << 20, 'p');
        for (int i = 0; i < 200 && !reply.gone(); ++i) reply.write(part);
        noticed.set_value(reply.gone());
      },
      {.write_time = milliseconds(100)});
  Client client(server);
  client.send(kGet);
  EXPECT_TRUE(noticed.get_future().get());
}

TEST(HttpServer, TurnsConnectionsAwayWhenItIsFull) {
  std::promise<void> answer;
  const std::shared_future<void> may_answer = answer.get_future().share();
  const HttpServer server = make_server(
      [&](const HttpRequest&, HttpReply& reply) {
        may_answer.wait();
        reply.send({});
      },
      {.connections = 2});
  Client first(server), second(server);
  first.send(kGet);
  second.send(kGet);
  Client third(server);
  EXPECT_EQ(status_of(third.read_to_end()), 503);
  answer.set_value();
  EXPECT_EQ(status_of(first.read_answer().first), 200);
  EXPECT_EQ(status_of(second.read_answer().first), 200);
}

TEST(HttpServer, BoundsTheBodiesOfAllRequests) {
  std::promise<void> arrived, answer;
  const std::shared_future<void> may_answer = answer.get_future().share();
  std::atomic<int> handled = 0;
  const HttpServer server = make_server(
      [&](const HttpRequest& request, HttpReply& reply) {
        if (handled++ == 0) arrived.set_value();
        may_answer.wait();
        echo(request, reply);
      },
      {.all_bodies_bytes = 300});
  const std::string request =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'x');
  Client first(server);
  first.send(request);
  arrived.get_future().wait();
  Client second(server);
  second.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + std::string(200, 'x'));
  EXPECT_EQ(status_of(second.read_to_end()), 503);
  answer.set_value();
  EXPECT_EQ(status_of(first.read_answer().first), 200);
  first.send(request);
  EXPECT_EQ(status_of(first.read_answer().first), 200);
}

TEST(HttpServer, ARequestThatGetsNoAnswerIsAnError) {
  const HttpServer server = make_server([](const HttpRequest&, HttpReply&) {});
  Client client(server);
  client.send(kGet);
  EXPECT_EQ(status_of(client.read_answer().first), 500);
  client.send(kGet);
  EXPECT_EQ(status_of(client.read_answer().first), 500);
}

TEST(HttpServer, StopsAcceptingButAnswersWhatIsUnderWay) {
  std::promise<void> begun, answer;
  HttpServer server = make_server([&](const HttpRequest&, HttpReply& reply) {
    begun.set_value();
    answer.get_future().wait();
    reply.send({.body = "done"});
  });
  Client idle(server), busy(server);
  busy.send(kGet);
  begun.get_future().wait();
  server.stop_accepting();
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(server.wait_until_answered(milliseconds(1)));
  answer.set_value();
  EXPECT_TRUE(server.wait_until_answered(kPatience));
  EXPECT_EQ(busy.read_answer().second, "done");
  busy.send(kGet);
  EXPECT_EQ(busy.read_to_end(), "");
}

TEST(HttpServer, ALongAnswerIsSentBeforeItStops) {
  const std::string body(size_t{20} << 20, 'b');
  std::promise<void> handled;
  HttpServer server = make_server([&](const HttpRequest&, HttpReply& reply) {
    reply.send({.body = body});
    handled.set_value();
  });
  Client client(server);
  client.send(kGet);
  handled.get_future().wait();
  server.stop_accepting();
  auto read = std::async(std::launch::async, [&] { return client.read_answer().second.size(); });
  EXPECT_TRUE(server.wait_until_answered(kPatience));
  EXPECT_EQ(read.get(), body.size());
}

TEST(HttpServer, EndsWhileRequestsAreUnderWay) {
  constexpr int kClients = 8;
  std::atomic<int> begun = 0, gone = 0;
  std::promise<void> all_begun;
  std::optional<HttpServer> server;
  server.emplace(
      "127.0.0.1", 0, HttpLimits{}, [](int, std::string_view) { return std::string(); },
      [&](const HttpRequest&, HttpReply& reply) {
        reply.begin({});
        if (++begun == kClients) all_begun.set_value();
        if (wait_until_gone(reply)) ++gone;
        reply.write("to nobody");
      });
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Client>(*server));
    clients.back()->send(kGet);
  }
  all_begun.get_future().wait();
  server.reset();
  EXPECT_EQ(gone, kClients);
  for (const auto& client : clients) EXPECT_FALSE(client->read_to_end().ends_with("0\r\n\r\n"));
}

TEST(HttpServer, ManyClientsGetTheirOwnAnswers) {
  const HttpServer server = make_server();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Client client(server);
      for (int j = 0; j < 50; ++j) {
        const std::string path = fmt::format("/{}/{}", i, j);
        client.send("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
        if (client.read_answer().second == "GET " + path + " ") ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 50);
}

TEST(HttpServer, NamesWhatItCannotListenOn) {
  const auto refuse = [](int, std::string_view) { return std::string(); };
  const HttpServer server = make_server();
  EXPECT_EQ(refusal([&] { HttpServer("127.0.0.1", server.port(), {}, refuse, echo); }),
            fmt::format("cannot listen on 127.0.0.1:{}: Address already in use; another program "
                        "uses the port; give another one as --port, or 0 for any",
                        server.port()));
  const std::string other = refusal([&] { HttpServer("192.0.2.1", 0, {}, refuse, echo); });
  EXPECT_TRUE(other.starts_with("cannot listen on 192.0.2.1:0: ")) << other;
  EXPECT_TRUE(other.ends_with("; give an address of this machine as --host")) << other;
  const std::string unknown = refusal([&] { HttpServer("no such", 0, {}, refuse, echo); });
  EXPECT_TRUE(unknown.starts_with("--host no such: ")) << unknown;
}

TEST(HttpServer, ListensOnLocalhostAndAllAddresses) {
  for (const std::string host : {"localhost", "0.0.0.0"}) {
    const HttpServer server(host, 0, {}, [](int, std::string_view) { return std::string(); }, echo);
    Client client(server);
    client.send(kGet);
    EXPECT_EQ(client.read_answer().second, "GET / ") << host;
  }
}

}  // namespace
}  // namespace sluice::server
