// A question as /v1 shows it. Not redacted. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "store/questions.hpp"

namespace mcpx::broker {

// Who asks what of whom, since when, how it stands, and who answered it; never what they answered.
std::string summary_json(const store::QuestionRow& row);
// The same with what the server sent, under "params".
std::string question_json(const store::QuestionRow& row);
std::string event_json(std::string_view type, const store::QuestionRow& row);

}  // namespace mcpx::broker
