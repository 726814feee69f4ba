#pragma once
#include <span>
#include <string_view>

namespace sluice::server {

/// A file of src/server/web, as it was when the program was built.
struct WebFile {
  std::string_view name;
  std::string_view etag;  ///< Of its content, with quotation marks.
  std::string_view bytes;
};

[[nodiscard]] std::span<const WebFile> web_files();

}  // namespace sluice::server
