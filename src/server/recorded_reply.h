#pragma once
#include "server/http.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// For tests: what a handler or a writer answers.
namespace sluice::server {

class RecordedReply final : public HttpReply {
 public:
  void send(HttpResponse answer) override {
    response = std::move(answer);
    sent = true;
  }
  void begin(HttpResponse answer) override {
    response = std::move(answer);
    began = true;
  }
  void write(std::string_view part) override {
    response.body += part;
    if (response.body.size() > read_bytes) has_left = true;
  }
  void cut() override { was_cut = true; }
  [[nodiscard]] bool gone() const override { return has_left; }

  /// The blocks of a stream of events so far, each without the blank line at its end.
  [[nodiscard]] std::vector<std::string> blocks() const {
    std::vector<std::string> blocks;
    std::string_view rest = response.body;
    while (!rest.empty()) {
      const size_t end = rest.find("\n\n");
      blocks.emplace_back(rest.substr(0, end));
      rest = end == std::string_view::npos ? "" : rest.substr(end + 2);
    }
    return blocks;
  }

  HttpResponse response;  ///< With all of the body that there is.
  bool sent = false, began = false, was_cut = false;
  size_t read_bytes = SIZE_MAX;  ///< Of the body; then the client goes.
  bool has_left = false;
};

}  // namespace sluice::server
