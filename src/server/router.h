#pragma once
#include "server/access.h"
#include "server/handler.h"
#include "server/http.h"

namespace sluice::server {

/// Finds who answers a request: first whether it may be answered at all, then by path and method.
/// An Error that a handler throws becomes the answer. Any thread.
class Router {
 public:
  /// All must outlive it.
  Router(const HandlerContext& context, const AccessRules& rules)
      : context_(context), rules_(rules) {}

  /// Returns the status that was sent; 0 for none.
  int handle(const HttpRequest& request, HttpReply& reply) const;

 private:
  const HandlerContext& context_;
  const AccessRules& rules_;
};

}  // namespace sluice::server
