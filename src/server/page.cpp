#include "server/handler.h"
#include "server/web_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::server {
namespace {

constexpr std::string_view kFolder = "/web/";

std::string_view file_name(std::string_view path) {
  if (path == "/") return "index.html";
  return path.starts_with(kFolder) ? path.substr(kFolder.size()) : std::string_view();
}

std::string_view content_type(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".svg", "image/svg+xml"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return type;
  }
  return "application/octet-stream";
}

/// The page loads nothing from elsewhere, runs no code but its files, and is shown in no other
/// page. Browsers keep its files but ask each time whether they are the newest.
HttpHeaders page_headers(std::string_view etag) {
  return {{"ETag", std::string(etag)},
          {"Cache-Control", "no-cache"},
          {"Content-Security-Policy",
           "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"}};
}

bool has_it(const HttpRequest& request, std::string_view etag) {
  const std::string* known = request.header("if-none-match");
  return known != nullptr && (*known == "*" || known->find(etag) != std::string::npos);
}

}  // namespace

void handle_page(const HandlerContext&, const HttpRequest& request, HttpReply& reply) {
  const std::span<const WebFile> files = web_files();
  const auto file = std::ranges::find(files, file_name(request.path), &WebFile::name);
  if (file == files.end()) {
    return reply.send(problem_response(
        {.status = 404, .message = "the page has no file " + request.path, .code = "not_found"},
        Dialect::kOpenAi));
  }
  HttpResponse response{.type = std::string(content_type(file->name)),
                        .headers = page_headers(file->etag)};
  if (has_it(request, file->etag)) {
    response.status = 304;
  } else {
    response.body = file->bytes;
  }
  reply.send(std::move(response));
}

}  // namespace sluice::server
