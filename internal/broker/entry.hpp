// What broker.cpp and answers.cpp share: a question that waits, and how rows are settled. Thread:
// the broker's home.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "broker/broker.hpp"
#include "runtime/one_shot.hpp"

namespace mcpx::broker {

// A question that waits. With `asker` somebody awaits its answer.
struct Broker::Entry {
  Row row;
  bool asker = false;
  bool settling = false;   // an answer is on its way to the store
  bool delivered = false;  // the asker has been given the answer that is in the store
  runtime::OneShot<call::Response> answer;
};

std::int64_t unix_now();
mcp::QuestionKind kind_of(const store::QuestionRow& row);
Error not_kept(const Error& cause);
// What a model was asked is nobody's business once it is settled.
void settle(store::QuestionRow& row, std::string_view state, std::string_view action,
            std::string_view surface, std::string by);

}  // namespace mcpx::broker
