// State: what is known of one task, whoever works on it; how a server's word of it is read, and how
// it is told in either era: the core of 2025-11-25 (basic/utilities/tasks) and the extension of
// 2026-07-28 (SEP-2663).
//
// The two differ in what failed means: a tool that says isError has completed in the extension and
// failed in the core; here it has completed. Times are Unix milliseconds. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"
#include "mcp/asking.hpp"
#include "mcp/revision.hpp"

namespace mcpx::tasks {

enum class Status : std::uint8_t { working, input_required, completed, failed, cancelled };
std::string_view text(Status status);
std::optional<Status> parse_status(std::string_view text);
constexpr bool is_over(Status status) {
  return status != Status::working && status != Status::input_required;
}

// What is asked on behalf of a task.
struct Question {
  Question(std::string key_in, std::string method_in, std::string params_in)
      : key(std::move(key_in)), method(std::move(method_in)), params(std::move(params_in)) {}
  friend bool operator==(const Question&, const Question&) = default;
  std::string key;
  std::string method, params;  // as on the wire; raw params
};

struct State {
  std::string id;
  std::string server, endpoint;  // of the call; "" is /mcp
  bool own_uris = false;         // as registry::Target has it
  mcp::Askable askable = 0;      // what its caller can be asked
  Status status = Status::working;
  std::string message;
  std::int64_t created = 0, updated = 0, ttl = 0, poll = 0;
  std::vector<Question> questions;  // that wait for an answer
  std::string outcome;              // raw: the result of what completed, the error of what failed
  mcp::Revision from = mcp::kLatestModern;  // whose vocabulary the outcome is in
};

// What a server says of a task of its own.
struct Report {
  std::string id;
  Status status = Status::working;
  std::string message;
  std::optional<std::int64_t> ttl, poll;
  std::vector<Question> questions;
  std::string outcome;
};
// Of a Task object in the vocabulary of that era; nullopt when it is none.
std::optional<Report> read_report(json::Raw task, mcp::Era era);
// Of the answer to a call; nullopt when it is no task.
std::optional<Report> read_created(json::Raw result, mcp::Era era);

// "2026-07-28T10:30:00.123Z"
std::string iso_time(std::int64_t unix_ms);

// What is said of a task that is spelled for its reader: raw, at most one is set.
struct Inlined {
  std::string result, error, requests;
};
// The members of a DetailedTask, behind those of `head`: {"resultType":"complete",...}.
std::string modern_task(json::ObjectBuilder head, const State& state, const Inlined& inlined);
// A Task of 2025-11-25.
std::string legacy_task(const State& state);

// A result or params of 2025-11-25 that names this task in its _meta, or (empty) none.
std::string with_related_task(json::Raw object, std::string_view id);

}  // namespace mcpx::tasks
