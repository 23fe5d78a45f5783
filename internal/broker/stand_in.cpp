#include "broker/stand_in.hpp"

#include <utility>

#include "base/digest.hpp"
#include "json/splice.hpp"

namespace mcpx::broker {
namespace {

// What is longer is not looked up again after a restart.
constexpr std::size_t kLargestKnown = 1024 * 1024;

// The same call made again has other metadata, another state, and the same rest.
std::string digest_of(const call::Call& call, std::string_view server) {
  if (call.params.size() > kLargestKnown) return {};
  json::Splice params(call.params);
  params.remove("_meta").remove("requestState").remove("inputResponses");
  std::string all;
  for (const std::string_view part :
       {call.caller.principal, server, call.method_name, std::string_view(call.target_value)}) {
    all.append(part).append(1, '\0');
  }
  params.append_to(all);
  return sha256_hex(all);
}

}  // namespace

Origin origin_of(const call::Call& call, std::string_view server) {
  Origin origin;
  const auto target = call.target_value.empty() ? json::find_string(call.params, "name")
                                                : json::decode_string(call.target_value);
  origin.target = target.value_or("");
  origin.principal = call.caller.principal;
  origin.client = json::find_string(call.caller.client_info, "name").value_or("");
  origin.call_key = digest_of(call, server);
  return origin;
}

// One question at the broker.
struct StandIn::Waiting {
  explicit Waiting(StandIn& owner_in) : owner(owner_in), since(Clock::now()) {
    owner.waiting_.push_back(this);
    owner.note_waiting();
  }
  ~Waiting() {
    std::erase(owner.waiting_, this);
    owner.note_waiting();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  StandIn& owner;
  TimePoint since;
  runtime::CancelSource over;
};

void StandIn::note_waiting() {
  const TimePoint since = waiting_.empty() ? kNever : waiting_.front()->since;
  away_since_.store(since.time_since_epoch().count(), std::memory_order_relaxed);
}

TimePoint StandIn::away_since() const {
  return TimePoint(Duration(away_since_.load(std::memory_order_relaxed)));
}

void StandIn::give_way() {
  shard_.post([self = shared_from_this()] {
    for (Waiting* waiting : std::vector<Waiting*>(self->waiting_))
      waiting->over.cancel("other calls needed its place at the server");
  });
}

Task<call::Response> StandIn::ask(const call::Question& question,
                                  runtime::CancelSource& withdrawn) {
  const mcp::Askable needed = mcp::needed_for(question.kind, question.params);
  call::Response response = call::Response::none(question.kind, "the client cannot be asked");
  if (caller_ && (askable_ & needed) == needed) {
    response = co_await caller_->ask(question, withdrawn);
    if (!response.unreachable) co_return response;
  }
  if ((stands_in_ & needed) != needed) co_return response;
  Waiting waiting(*this);
  const auto subscription =
      withdrawn.subscribe([&waiting](const std::string& reason) { waiting.over.cancel(reason); });
  Asked asked = co_await broker_.ask(question, origin_, waiting.over);
  if (!asked.id.empty()) ids_.push_back(asked.id);
  co_return std::move(asked.response);
}

Task<call::Response> Unattended::ask(const call::Question& question,
                                     runtime::CancelSource& withdrawn) {
  const Origin origin;
  Asked asked = co_await broker_.ask(question, origin, withdrawn);
  std::vector<std::string> ids;
  if (!asked.id.empty()) ids.push_back(asked.id);
  broker_.release(std::move(ids));
  co_return std::move(asked.response);
}

}  // namespace mcpx::broker
