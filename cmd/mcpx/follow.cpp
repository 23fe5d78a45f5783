#include "follow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"
#include "exit_codes.hpp"
#include "http/client.hpp"
#include "runtime/shard.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kAnswer{10'000};   // until the daemon begins to answer
constexpr Milliseconds kSilence{60'000};  // it says something every 15 seconds
constexpr Milliseconds kFirstPause{200}, kLongestPause{2'000}, kAway{30'000};

struct Following {
  const Context& context;
  std::function<void(std::string_view)> told;
  std::string last;
  std::optional<Error> error;
  bool refused = false;  // trying again changes nothing
};

// True: the stream was there, and ended.
Task<bool> follow_once(http::Client& client, Following& following) {
  std::vector<http1::Field> fields;
  fields.emplace_back("Accept", "text/event-stream");
  if (!following.context.authorization.empty()) {
    fields.emplace_back("Authorization", following.context.authorization);
  }
  const std::string last = following.last;
  if (!last.empty()) fields.emplace_back("Last-Event-ID", last);
  http::Request request;
  request.method = "GET";
  request.target = "/v1/events";
  request.fields = fields;
  request.deadline = Clock::now() + kAnswer;
  auto response = co_await client.send(request);
  if (!response) {
    following.error = Error("cli.unreachable", response.error().message, unreachable_remedy());
    co_return false;
  }
  const unsigned status = (*response)->head().status;
  if (status != 200) {
    following.refused = status < 500;
    following.error = Error("cli.failed", fmt::format("the daemon answered HTTP {}", status),
                            "see that the token is for /v1, and that mcpxd is not an older one");
    co_return false;
  }
  while (true) {
    const auto event = co_await (*response)->next_event(Clock::now() + kSilence);
    if (!event || !*event) co_return true;
    if ((*event)->id) following.last = *(*event)->id;
    if (!(*event)->data.empty()) following.told((*event)->data);
  }
}

Task<void> follow(runtime::Shard& shard, const http::Origin& origin,
                  const http::Client::Options& options, Following& following) {
  {
    http::Client client(shard, origin, options);
    runtime::Timer pause_timer(shard);
    Milliseconds pause = kFirstPause;
    TimePoint away_since = Clock::now();
    while (!following.refused && Clock::now() - away_since < kAway) {
      const bool was_there = co_await follow_once(client, following);
      if (was_there) {
        away_since = Clock::now();
        pause = kFirstPause;
      }
      const bool slept = co_await pause_timer.sleep_for(pause);
      static_cast<void>(slept);
      pause = std::min(pause * 2, kLongestPause);
    }
  }
  shard.finish();
}

}  // namespace

int follow_events(const Context& context, std::function<void(std::string_view)> told) {
  const auto parsed = http::parse_url(context.url);
  if (!parsed) return fail_with(context, parsed.error(), kUsage);
  const auto tls = tls_for(daemon_of(context));
  if (!tls) return fail_with(context, tls.error(), kFailed);
  http::Client::Options options;
  options.tls = *tls;
  Following following{context, std::move(told), {}, {}, false};
  {
    runtime::Shard shard(0);
    runtime::TaskGroup group(shard);
    group.spawn("follow", follow(shard, parsed->origin, options, following));
    shard.run();
  }
  const Error error = following.error.value_or(Error("cli.failed", "the daemon went away"));
  return fail_with(context, error, exit_code_of(error));
}

}  // namespace mcpx::cli
