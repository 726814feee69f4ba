// Any bytes as a chat request: refused with a reason, or a prompt in which control tokens stand
// only where the chat format puts them.
#include "base/check.h"
#include "base/error.h"
#include "text/chat.h"
#include "text/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::text::ChatSegment;

constexpr std::string_view kControls[] = {"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"};

bool is_control(std::string_view text) {
  return std::find(std::begin(kControls), std::end(kControls), text) != std::end(kControls);
}

// The markup is balanced: each open has its tag and a sep, and closes are never more than opens.
void check_prompt(const std::vector<ChatSegment>& segments) {
  size_t opened = 0, closed = 0, separators = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const ChatSegment& segment = segments[i];
    SLUICE_CHECK(!segment.text.empty());
    SLUICE_CHECK(sluice::text::find_invalid_utf8(segment.text) == std::string::npos);
    if (!segment.control) continue;
    SLUICE_CHECK(is_control(segment.text));
    opened += segment.text == "<|open|>";
    closed += segment.text == "<|close|>";
    separators += segment.text == "<|sep|>";
    SLUICE_CHECK(closed <= opened);
    SLUICE_CHECK(separators <= opened + closed);
    if (segment.text == "<|open|>" || segment.text == "<|close|>") {
      SLUICE_CHECK(i + 1 < segments.size() && !segments[i + 1].control);
    }
  }
  SLUICE_CHECK(separators == opened + closed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  try {
    check_prompt(sluice::text::render_chat(sluice::text::parse_chat_request(json)));
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(error.code() == sluice::ErrorCode::kInvalidInput);
    SLUICE_CHECK(std::string_view(error.what()).find(": ") != std::string_view::npos);
  }
  return 0;
}
