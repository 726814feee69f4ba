#include "cli/answer_stream.h"

#include <utility>

namespace sluice::cli {

AnswerStream::AnswerStream(std::vector<std::string> stops, Show show)
    : stops_(std::move(stops)), show_(std::move(show)) {}

void AnswerStream::expect_chat(ReplyMarkers markers, Channel start) {
  splitter_.emplace(markers, start, [this](Channel channel, std::string_view bytes) {
    if (bytes.empty()) {
      flush(channel);
    } else {
      decode(channel, bytes);
    }
  });
}

bool AnswerStream::push(TokenId token, std::string_view bytes) {
  if (splitter_) {
    splitter_->push(token, bytes);
  } else {
    decode(Channel::kAnswer, bytes);
  }
  return !stops_.stopped();
}

void AnswerStream::decode(Channel channel, std::string_view bytes) {
  text::IncrementalDecoder& decoder = decoders_[static_cast<size_t>(channel)];
  emit(channel,
       decoder.push(channel == Channel::kAnswer ? stops_.push(bytes) : std::string(bytes)));
}

void AnswerStream::flush(Channel channel) {
  text::IncrementalDecoder& decoder = decoders_[static_cast<size_t>(channel)];
  if (channel == Channel::kAnswer) emit(channel, decoder.push(stops_.flush()));
  emit(channel, decoder.finish());
}

void AnswerStream::finish() {
  flush(Channel::kReasoning);
  flush(Channel::kAnswer);
}

void AnswerStream::emit(Channel channel, const std::string& text) {
  if (text.empty()) return;
  texts_[static_cast<size_t>(channel)] += text;
  show_(channel, text);
}

const std::string& AnswerStream::text(Channel channel) const {
  return texts_[static_cast<size_t>(channel)];
}

}  // namespace sluice::cli
