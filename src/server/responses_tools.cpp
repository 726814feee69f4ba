#include "server/responses_tools.h"

#include "server/chat_conversion.h"
#include "server/json.h"

#include <utility>

#include <fmt/format.h>

namespace sluice::server {

using text::JsonValue;

ResponseTools::ResponseTools(const Fields& request) {
  for_each_object(request, "tools", [&](const Fields& tool) {
    if (required_string(tool, "type") != "namespace") return add(tool, "");
    const std::string space = required_string(tool, "name");
    for_each_object(tool, "tools", [&](const Fields& inner) { add(inner, space); });
  });
}

std::string ResponseTools::chat_name(std::string_view space, std::string_view name) {
  return space.empty() ? std::string(name) : fmt::format("{}.{}", space, name);
}

ResponseTools::Name ResponseTools::client_name(const std::string& chat_name) const {
  const auto spaced = spaced_.find(chat_name);
  return spaced == spaced_.end() ? Name{"", chat_name} : spaced->second;
}

void ResponseTools::add(const Fields& tool, const std::string& space) {
  if (required_string(tool, "type") != "function") return;
  const std::string name = tool.string("name").value_or("");
  const std::string chat_name = this->chat_name(space, name);
  JsonValue function = json_object({{"name", chat_name}});
  for (const char* key : {"description", "parameters", "strict"}) {
    if (const JsonValue* value = tool.find(key)) add_member(function, {key, *value});
  }
  tools_.push_back(chat_function(std::move(function)));
  paths_.push_back(tool.path());
  if (!space.empty()) spaced_.insert_or_assign(chat_name, Name{space, name});
}

}  // namespace sluice::server
