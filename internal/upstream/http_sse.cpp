// HTTP+SSE (2024-11-05 basic/transports): one GET stream on which everything comes, and the address
// its first event names, to which everything is POSTed. Lives on the home shard.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "runtime/hop.hpp"
#include "upstream/endpoint.hpp"
#include "upstream/http_post.hpp"
#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

// A stream that opens and then says nothing is not HTTP+SSE.
constexpr Milliseconds kEndpointPatience{10'000};

}  // namespace

Task<Result<void>> HttpLink::open_event_stream(TimePoint deadline) {
  version_.clear();  // the header came later than this transport
  session_id_.clear();
  const TimePoint until = std::min(deadline, Clock::now() + kEndpointPatience);
  Opened opened = co_await get(std::string_view(), until, nullptr);
  if (!opened) co_return translated(opened.error());
  const http1::ResponseHead& head = (*opened)->head();
  if (head.status != 200 || !is_event_stream(head)) {
    co_return redacted_error(context_.environment,
                             status_error(context_.config.name, "GET", head, ""));
  }
  Result<std::string> target = co_await await_endpoint(**opened, until);
  if (!target) co_return redacted_error(context_.environment, target.error());
  endpoint_ = std::move(*target);
  tasks_.spawn("event stream", read_event_stream(std::move(*opened)));
  co_return Result<void>();
}

Task<Result<std::string>> HttpLink::await_endpoint(http::Response& response, TimePoint until) {
  while (true) {
    Result<std::optional<http1::SseEvent>> event = co_await response.next_event(until);
    if (!event || !*event) {
      co_return Error("upstream.handshake",
                      fmt::format("server {} opened an event stream, but no endpoint event came",
                                  context_.config.name),
                      "check that the url is that of an MCP server");
    }
    if ((*event)->type != "endpoint") continue;
    co_return endpoint_target(context_.config.url, (*event)->data);
  }
}

// The stream is the session: when it is lost, so is the link.
Task<void> HttpLink::read_event_stream(std::unique_ptr<http::Response> response) {
  const bool heard = co_await hear(*response);
  static_cast<void>(heard);
  const bool known = lost_.exchange(true);
  const Error why("upstream.disconnected",
                  fmt::format("server {} ended its event stream", context_.config.name),
                  "see the server's own log; it is connected to anew");
  for (Post* post = local().first; post; post = post->next) {
    post->settle(why);
    post->interrupt();
  }
  if (!known) session_lost(why);
}

// One request: POSTed, and answered on the stream.
Task<Reply> HttpLink::exchange_by_stream(Post& post) {
  const InFlight in_flight(local(), post);
  post.resumable = true;  // its answer comes on another stream than its own
  if (lost_) {
    co_return Error("upstream.session_expired",
                    fmt::format("server {} ended its event stream", context_.config.name),
                    "call again");
  }
  std::string body = post.body;
  if (!post.envelope.empty()) body = post.envelope + post.body + "}";
  const bool sending = spawn("post", post_to_endpoint(std::move(body), std::string(post.method),
                                                      post.number, post.deadline));
  if (!sending) {
    post.settle(Error("upstream.overloaded",
                      fmt::format("server {} takes no more messages", context_.config.name),
                      "wait, or see the server's own log"));
  }
  while (!settled(post) && Clock::now() < post.deadline) {
    co_await sleep(post, post.deadline);
  }
  post.settle(
      Error("upstream.timeout",
            fmt::format("server {} did not answer {} in time", context_.config.name, post.method),
            "raise call_timeout for this server, or see what it is doing"));
  co_return std::move(*post.outcome);
}

Task<void> HttpLink::post_to_endpoint(std::string body, std::string method, rpc::Number number,
                                      TimePoint deadline) {
  Post carrier;
  carrier.method = method;
  carrier.body = std::move(body);
  carrier.deadline = deadline;
  Reply sent = co_await exchange(carrier);
  if (sent) co_return;
  Error why = sent.error();
  // The server has forgotten the session that its stream stood for; nothing was done.
  if (carrier.status == 404 || carrier.status == 410) why = expired(carrier.status).error();
  for (Post* post = local().first; post; post = post->next) {
    if (post->number != number || post->id.empty()) continue;
    post->status = carrier.status;
    post->settle(why);
    post->interrupt();
    break;
  }
}

// A call from another shard: over to where the stream is, and back with the answer.
Task<Reply> HttpLink::forward_to_home(const Forward& forward) {
  // Subscribed to at home only; the caller's own source is on this shard.
  const auto cancelled = std::make_shared<runtime::CancelSource>();
  runtime::CancelSource::Subscription subscription;
  if (forward.cancel) {
    runtime::Shard& home = context_.home;
    subscription = forward.cancel->subscribe([&home, cancelled](const std::string& reason) {
      home.post([cancelled, reason] { cancelled->cancel(reason); });
    });
  }
  Forward there = forward;
  there.cancel = cancelled.get();
  const std::function<Task<Reply>()> at_home = [this, &there] { return forward_here(there); };
  Reply reply = co_await runtime::run_on<Reply>(context_.home, at_home);
  co_return reply;
}

}  // namespace mcpx::upstream
