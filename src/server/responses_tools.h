#pragma once
#include "server/fields.h"
#include "text/json_value.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

/// The tools of a request of OpenAI's Responses form. Those of a namespace are known to the model
/// by both names. Tools that are no functions are left out: they would have to be run by the
/// server, or be called with free text, and clients such as Codex declare some always.
class ResponseTools {
 public:
  /// Throws Error(kInvalidInput) that begins with the field.
  explicit ResponseTools(const Fields& request);

  /// As OpenAI's chat form has them.
  [[nodiscard]] const std::vector<text::JsonValue>& chat_tools() const { return tools_; }
  /// What the request calls each.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// What the model calls a function; `space` may be empty.
  [[nodiscard]] static std::string chat_name(std::string_view space, std::string_view name);

  struct Name {
    std::string space, name;  ///< `space` may be empty.
  };
  /// What the client calls it.
  [[nodiscard]] Name client_name(const std::string& chat_name) const;

 private:
  void add(const Fields& tool, const std::string& space);

  std::vector<text::JsonValue> tools_;
  std::vector<std::string> paths_;
  std::map<std::string, Name> spaced_;  // By what the model calls it; those of namespaces.
};

}  // namespace sluice::server
