#pragma once
#include "server/reply_order.h"
#include "text/json_value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

/// The members of a JSON object of a request, with errors that name them. A null counts as absent,
/// and members that nobody asks for are ignored, since clients add many.
class Fields {
 public:
  /// `path`: what messages call the object, such as stream_options; empty for the whole request.
  /// Throws Error(kInvalidInput) when it is no object. It must outlive this.
  explicit Fields(const text::JsonValue& object, std::string path = {});

  /// Null when it is absent.
  [[nodiscard]] const text::JsonValue* find(std::string_view key) const;
  /// An object among them.
  [[nodiscard]] std::optional<Fields> object(std::string_view key) const;
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key, double least, double most) const;
  [[nodiscard]] std::optional<int64_t> integer(std::string_view key, int64_t least,
                                               int64_t most) const;
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;
  /// A string or an array of strings; empty when absent.
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const;
  /// An array of token ids; empty when absent.
  [[nodiscard]] std::vector<TokenId> ids(std::string_view key, uint32_t vocab) const;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(std::string_view key) const;
  /// Throws Error(kInvalidInput) "path: what".
  [[noreturn]] void refuse(std::string_view key, std::string_view what) const;

 private:
  const text::JsonValue* object_;
  std::string path_;
};

/// The whole of a request's body. Throws Error(kInvalidInput) for what is no JSON object.
[[nodiscard]] text::JsonValue parse_body(std::string_view body);

/// The sampling fields that the OpenAI interfaces share: temperature, top_p, top_k, min_p, seed,
/// penalties, stop, logit_bias, min_tokens, ignore_eos, stop_token_ids, n, ... Refuses what would
/// have to be obeyed and is not done, such as beam search.
void read_sampling(const Fields& fields, uint32_t vocab, ReplyOrder& order);

/// The most tokens of a reply, from the field that an interface has for them; after
/// read_sampling(). Any number from 1 on, since clients send more than there is room for.
void read_max_tokens(const Fields& fields, std::string_view key, ReplyOrder& order);

/// Throws Error(kInvalidInput) for sampling that Moonshot's own interface to K3 refuses, which has
/// one temperature, one top_p, one choice and no penalties.
void check_vendor_sampling(const Fields& fields);

}  // namespace sluice::server
