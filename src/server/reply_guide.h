#pragma once
#include "engine/engine.h"
#include "server/reply_order.h"
#include "server/served_model.h"

#include <memory>

namespace sluice::server {

/// What decides beside the model which tokens a reply may have and when it is over: tools and
/// response format, stop strings, min_tokens and the budget of thinking. Null when nothing does.
/// Throws Error(kInvalidInput) that begins with the field for a schema that is refused.
[[nodiscard]] std::unique_ptr<engine::TokenGuide> make_guide(const ServedModel& model,
                                                             const ReplyOrder& order);

}  // namespace sluice::server
