// Answers that somebody gives, and what can be seen of questions.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/entry.hpp"
#include "broker/policy.hpp"
#include "json/json.hpp"
#include "log/log.hpp"
#include "mcp/form.hpp"
#include "runtime/hop.hpp"

namespace mcpx::broker {

using mcp::QuestionKind;

Task<Result<Broker::Row>> Broker::answer(Answer answer) {
  const auto shared = std::make_shared<Answer>(std::move(answer));
  const std::function<Task<Result<Row>>()> make = [this, shared] {
    return answer_home(std::move(*shared));
  };
  Result<Row> row = co_await runtime::run_on<Result<Row>>(home_, make);
  co_return row;
}

Task<Result<Broker::Row>> Broker::answer_home(Answer answer) {
  const auto found = pending_.find(answer.id);
  if (found == pending_.end() || found->second->settling || closing_) {
    Error error = co_await settled_error(answer.id);
    co_return error;
  }
  const EntryPtr entry = found->second;
  call::Response response;
  if (auto error = refusal(entry->row, answer, response)) co_return std::move(*error);
  Row row = entry->row;
  settle(row, "answered", answer.action, answer.surface, answer.by);
  row.result = response.result;
  row.error = response.error;
  entry->settling = true;
  Row copy = row;
  const Result<void> kept = co_await store_.questions().put(std::move(copy));
  entry->settling = false;
  if (!kept) {
    if (!entry->asker && entry->answer.is_set()) end(entry, "withdrawn", "the call is over");
    co_return not_kept(kept.error());
  }
  pending_.erase(answer.id);
  entry->row = row;
  if (entry->asker) {
    entry->delivered = true;
    entry->answer.set(std::move(response));
  } else {
    answers_.emplace(row.id, row);
  }
  log::info("question {} of server {}: {} by {}", row.id, row.server, row.action, row.surface);
  told("question.answered", row);
  co_return row;
}

std::optional<Error> Broker::refusal(const Row& row, const Answer& answer,
                                     call::Response& response) {
  const QuestionKind kind = kind_of(row);
  response = response_for(kind, row.params, answer.action, answer.content);
  if (answer.action != "accept") return std::nullopt;
  std::vector<std::string> problems;
  if (kind == QuestionKind::form) {
    const json::Raw schema = json::find(row.params, "requestedSchema").value_or("{}");
    problems = mcp::form_problems(schema, json::find(response.result, "content").value_or("{}"));
  } else if (kind != QuestionKind::url && !mcp::is_answer(kind, response.result)) {
    problems.emplace_back(kind == QuestionKind::sampling
                              ? "'result' must be a message with role, content and model"
                              : "'result' must be an object with 'roots'");
  }
  if (problems.empty()) return std::nullopt;
  return Error("broker.invalid", fmt::format("{}", fmt::join(problems, "; ")),
               "see what is asked for with 'mcpx elicit show " + row.id + "'");
}

Task<Error> Broker::settled_error(std::string id) {
  const Result<std::optional<Row>> found = co_await find(id);
  if (!found) co_return found.error();
  const std::optional<Row>& row = *found;
  if (!row) {
    co_return Error("broker.unknown", fmt::format("no question '{}'", id),
                    "'mcpx elicit list' shows those that wait");
  }
  if (row->state == "pending") {
    co_return Error("broker.settled", fmt::format("question {} is being settled", id),
                    "see it with 'mcpx elicit show " + id + "'");
  }
  std::string how = row->state;
  if (row->state == "answered") how = fmt::format("{} by {}", row->action, row->surface);
  co_return Error("broker.settled", fmt::format("question {} is settled: {}", id, how),
                  "see it with 'mcpx elicit show " + id + "'");
}

// --- Looking

Task<std::vector<Broker::Row>> Broker::pending_rows() {
  std::vector<Row> rows;
  for (const auto& [id, entry] : pending_)
    rows.push_back(entry->row);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.created_at, a.id) < std::pair(b.created_at, b.id);
  });
  co_return rows;
}

Task<Result<std::vector<Broker::Row>>> Broker::list(std::string state) {
  constexpr std::size_t kMost = 1000;
  const bool waiting = state == "pending";
  std::vector<Row> rows;
  if (waiting || state.empty()) {
    const std::function<Task<std::vector<Row>>()> make = [this] { return pending_rows(); };
    rows = co_await runtime::run_on<std::vector<Row>>(home_, make);
  }
  if (waiting) co_return rows;
  Result<std::vector<Row>> kept = co_await store_.questions().list(std::move(state), kMost);
  if (!kept) co_return kept.error();
  for (Row& row : *kept) {
    if (row.state != "pending") rows.push_back(std::move(row));
  }
  co_return rows;
}

Task<std::optional<Broker::Row>> Broker::pending_row(std::string id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) co_return std::nullopt;
  co_return found->second->row;
}

Task<Result<std::optional<Broker::Row>>> Broker::find(std::string id) {
  const std::function<Task<std::optional<Row>>()> make = [this, &id] { return pending_row(id); };
  const std::optional<Row> waiting = co_await runtime::run_on<std::optional<Row>>(home_, make);
  if (waiting) co_return waiting;
  Result<std::optional<Row>> kept = co_await store_.questions().find(std::move(id));
  co_return kept;
}

Task<Batch> Broker::events(std::string last, Milliseconds patience) {
  const auto from = std::make_shared<std::string>(std::move(last));
  const std::function<Task<Batch>()> make = [this, from, patience] {
    return events_.after(std::move(*from), patience);
  };
  Batch batch = co_await runtime::run_on<Batch>(home_, make);
  co_return batch;
}

void Broker::wake_readers() {
  home_.post([this] { events_.wake(); });
}

}  // namespace mcpx::broker
