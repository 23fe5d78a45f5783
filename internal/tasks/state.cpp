#include "tasks/state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::tasks {
namespace {

constexpr std::array<std::string_view, 5> kStatuses = {"working", "input_required", "completed",
                                                       "failed", "cancelled"};
// Of one task at once; what asks for more is not well.
constexpr std::size_t kQuestionsAtMost = 64;
constexpr std::size_t kLongestMessage = 4 * 1024;  // statusMessage is a line for a person

std::optional<std::int64_t> number(json::Raw object, std::string_view key) {
  const auto value = json::find(object, key);
  const auto read = value ? json::as_integer(*value) : std::nullopt;
  return read && *read >= 0 ? read : std::nullopt;
}

std::vector<Question> read_questions(json::Raw task) {
  std::vector<Question> questions;
  const auto requests = json::find(task, "inputRequests");
  if (!requests || !json::is_object(*requests)) return questions;
  json::Members members(*requests);
  while (const auto member = members.next()) {
    auto key = json::decode_string(member->key);
    auto method = json::find_string(member->value, "method");
    if (!key || !method || questions.size() == kQuestionsAtMost) continue;
    const bool twice = std::any_of(questions.begin(), questions.end(),
                                   [&key](const Question& one) { return one.key == *key; });
    if (twice) continue;
    const json::Raw params = json::find(member->value, "params").value_or("{}");
    questions.emplace_back(std::move(*key), std::move(*method), std::string(params));
  }
  return questions;
}

// In the core a tool that says isError has failed ("Task Execution Errors").
std::string_view legacy_status(const State& state) {
  const bool tool_failed =
      state.status == Status::completed && json::find(state.outcome, "isError") == "true";
  return text(tool_failed ? Status::failed : state.status);
}

}  // namespace

std::string_view text(Status status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

std::optional<Status> parse_status(std::string_view text) {
  for (std::size_t i = 0; i < kStatuses.size(); ++i) {
    if (kStatuses[i] == text) return static_cast<Status>(i);
  }
  return std::nullopt;
}

std::optional<Report> read_report(json::Raw task, mcp::Era era) {
  const bool modern = era == mcp::Era::modern;
  auto id = json::find_string(task, "taskId");
  const auto status = parse_status(json::find_string(task, "status").value_or(""));
  if (!id || id->empty() || !status) return std::nullopt;
  Report report;
  report.id = std::move(*id);
  report.status = *status;
  report.message = json::find_string(task, "statusMessage").value_or("").substr(0, kLongestMessage);
  report.ttl = number(task, modern ? "ttlMs" : "ttl");
  report.poll = number(task, modern ? "pollIntervalMs" : "pollInterval");
  if (!modern) return report;
  if (*status == Status::input_required) report.questions = read_questions(task);
  const bool completed = *status == Status::completed;
  if (completed || *status == Status::failed) {
    const auto outcome = json::find(task, completed ? "result" : "error");
    if (outcome && json::is_object(*outcome)) report.outcome = *outcome;
  }
  return report;
}

std::optional<Report> read_created(json::Raw result, mcp::Era era) {
  if (era == mcp::Era::modern) return read_report(result, era);
  const auto task = json::find(result, "task");
  return task ? read_report(*task, era) : std::nullopt;
}

std::string iso_time(std::int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     unix_ms % 1000);
}

std::string modern_task(json::ObjectBuilder head, const State& state, const Inlined& inlined) {
  head.string("taskId", state.id).string("status", text(state.status));
  if (!state.message.empty()) head.string("statusMessage", state.message);
  head.string("createdAt", iso_time(state.created))
      .string("lastUpdatedAt", iso_time(state.updated));
  head.integer("ttlMs", state.ttl).integer("pollIntervalMs", state.poll);
  head.raw("result", inlined.result).raw("error", inlined.error);
  head.raw("inputRequests", inlined.requests);
  return head.take();
}

std::string legacy_task(const State& state) {
  json::ObjectBuilder task;
  task.string("taskId", state.id).string("status", legacy_status(state));
  if (!state.message.empty()) task.string("statusMessage", state.message);
  task.string("createdAt", iso_time(state.created))
      .string("lastUpdatedAt", iso_time(state.updated));
  task.integer("ttl", state.ttl).integer("pollInterval", state.poll);
  return task.take();
}

std::string with_related_task(json::Raw object, std::string_view id) {
  const auto meta = json::find(object, "_meta");
  const json::Raw own = meta && json::is_object(*meta) ? *meta : json::Raw("{}");
  json::Splice spliced(own);
  if (!id.empty()) {
    json::ObjectBuilder related;
    spliced.set(mcp::kMetaRelatedTask, related.string("taskId", id).take());
  } else if (!meta || !json::find(own, mcp::kMetaRelatedTask)) {
    return std::string(object);
  } else {
    spliced.remove(mcp::kMetaRelatedTask);
  }
  const std::string text = spliced.text();
  json::Splice whole(object);
  if (json::Members(text).next()) {
    whole.set("_meta", text);
  } else {
    whole.remove("_meta");
  }
  return whole.text();
}

}  // namespace mcpx::tasks
