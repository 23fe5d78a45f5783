#include "ask/urls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "rpc/message.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::ask {
namespace {

constexpr std::size_t kUrlsAtMost = 16;  // of one error; what wants more is not well

// -32042 for a client that cannot be asked for urls: 2026-07-28 says which capability it lacks.
call::Outcome lacks_url() {
  json::ObjectBuilder data;
  data.raw("requiredCapabilities", R"({"elicitation":{"url":{}}})");
  return call::Outcome::of_error(
      rpc::error_object(mcp::kMissingClientCapability,
                        "the server needs the user to visit a URL, and the client did not declare "
                        "elicitation in url mode",
                        data.take()),
      mcp::kLatestModern);
}

call::Outcome interrupted(const std::string& server) {
  const Error error("ask.interrupted",
                    fmt::format("mcpx stops while server {} waits for input", server),
                    "call again; what is answered until then is not asked again");
  return call::Outcome::of_failure(mcp::kUpstreamFailure, error, server);
}

struct Visit {
  Visit(json::Raw params, const std::string& server)
      : question(mcp::QuestionKind::url, "elicitation/create",
                 json::Splice(params).set("mode", "\"url\"").text(), server) {}
  call::Question question;
  call::Response response;

  bool done() const { return json::find_string(response.result, "action") == "accept"; }
};

Task<void> ask_for(Visit& visit, call::Asker& asker, runtime::CancelSource& over) {
  visit.response = co_await asker.ask(visit.question, over);
}

}  // namespace

bool asks_for_urls(const call::Outcome& outcome) {
  if (outcome.ok() || mcp::era_of(outcome.from) == mcp::Era::modern) return false;
  const auto code = json::find(outcome.error, "code");
  return code && json::as_integer(*code) == mcp::kUrlElicitationRequired;
}

std::vector<json::Raw> wanted_urls(const call::Outcome& outcome) {
  std::vector<json::Raw> found;
  const auto wanted = json::find(outcome.error, "data", "elicitations");
  if (!wanted || !json::is_array(*wanted)) return found;
  json::Elements elements(*wanted);
  while (const auto element = elements.next()) {
    if (found.size() == kUrlsAtMost) break;
    if (json::is_object(*element) && json::find(*element, "url")) found.push_back(*element);
  }
  return found;
}

void translate_urls(call::Outcome& outcome) {
  if (asks_for_urls(outcome)) outcome = lacks_url();
}

call::Outcome not_visited() {
  const Error error("ask.declined", "the user did not visit the URL that the server needs",
                    "call again when they agree to");
  return call::Outcome::of_failure(mcp::kUpstreamFailure, error);
}

Task<bool> urls_visited(const upstream::Server& server, const call::Caller& caller,
                        std::shared_ptr<call::Asker> asker, call::Outcome& outcome) {
  std::vector<Visit> visits;
  for (const json::Raw params : wanted_urls(outcome))
    visits.emplace_back(params, server.name());
  if (visits.empty()) co_return false;
  runtime::CancelSource over;
  runtime::CancelSource::Subscription cancelled;
  if (caller.cancel) {
    cancelled =
        caller.cancel->subscribe([&over](const std::string& reason) { over.cancel(reason); });
  }
  runtime::TaskGroup tasks(runtime::Shard::current());
  for (Visit& visit : visits)
    tasks.spawn("ask for a visit", ask_for(visit, *asker, over));
  co_await tasks.join();
  const auto stopped = [](const Visit& visit) { return visit.response.interrupted; };
  if (std::any_of(visits.begin(), visits.end(), stopped)) {
    outcome = interrupted(server.name());
    co_return false;
  }
  const bool all =
      std::all_of(visits.begin(), visits.end(), [](const Visit& visit) { return visit.done(); });
  if (!all) outcome = not_visited();
  co_return all;
}

Task<void> call_after_visits(upstream::Server& server, const call::Call& call,
                             call::Outcome& outcome, std::size_t rounds) {
  for (std::size_t made = 0; made < rounds && asks_for_urls(outcome); ++made) {
    const bool visited = co_await urls_visited(server, call.caller, call.caller.asker, outcome);
    if (!visited) co_return;
    outcome = co_await server.call(call);
  }
}

}  // namespace mcpx::ask
