// How a call reaches its server: waiting for a link, crossing to the server's shard, coming back.
#include <fmt/format.h>

#include <utility>

#include "mcp/error_codes.hpp"
#include "runtime/hop.hpp"
#include "upstream/lifecycle.hpp"

namespace mcpx::upstream {
namespace {

Error cancelled_error() {
  return Error("request.cancelled", "the caller cancelled the request");
}

// What a caller gets for the reply to its call, or for the lack of one.
call::Outcome outcome_of(Reply reply, mcp::Revision from, const std::string& server) {
  if (!reply) {
    const bool by_caller = reply.error().code == "request.cancelled";
    const int code = by_caller ? mcp::kRequestCancelled : mcp::kUpstreamFailure;
    return call::Outcome::of_failure(code, reply.error(), server);
  }
  call::Outcome outcome;
  outcome.from = from;
  outcome.result = reply->result;
  outcome.error = reply->error;
  outcome.text = std::move(reply->text);
  return outcome;
}

}  // namespace

// Answers with the link that is up, starting the server if need be: all callers share one start
// (case C03), and a start that just failed is not repeated for each of them.
Task<LinkResult> Lifecycle::acquire(TimePoint deadline, runtime::CancelSource* cancel) {
  if (stopping_) co_return Error("upstream.stopped", "the daemon is stopping");
  if (link_ && link_->alive()) co_return link_;
  if (state_ == State::disabled) {
    co_return Error("upstream.disabled", fmt::format("server {} is disabled", config.name),
                    "set `enabled: true` for it in the configuration");
  }
  if (state_ == State::failed && start_failed_ && error_ && Clock::now() < retry_at_) {
    co_return *error_;
  }
  auto waiting = std::make_shared<runtime::OneShot<LinkResult>>();
  waiting_.push_back(waiting);
  start();
  runtime::CancelSource::Subscription subscription;
  if (cancel) {
    subscription =
        cancel->subscribe([waiting](const std::string&) { waiting->set(cancelled_error()); });
  }
  runtime::Watchdog patience(home, [this, waiting] {
    waiting->set(Error("upstream.timeout",
                       fmt::format("server {} did not start in time", config.name),
                       "raise call_timeout for this server, or call again once it is up"));
  });
  if (deadline != kNever) patience.set(deadline);
  LinkResult link = co_await waiting->wait();
  co_return link;
}

Task<call::Outcome> Lifecycle::forward_at_home(const call::Call& call, TimePoint deadline,
                                               std::uint64_t ticket) {
  runtime::CancelSource cancelled;
  tickets_.emplace(ticket, &cancelled);
  last_used_ = Clock::now();
  LinkResult link = co_await acquire(deadline, &cancelled);
  call::Outcome outcome;
  if (link) {
    std::shared_ptr<Link> held = *link;
    const Forward forward{call, deadline, config.call_timeout, deadline, &cancelled, catalogue};
    Reply reply = co_await held->forward(forward);
    outcome = outcome_of(std::move(reply), held->facts().revision, config.name);
  } else {
    outcome = outcome_of(link.error(), mcp::kLatestModern, config.name);
  }
  tickets_.erase(ticket);
  last_used_ = Clock::now();
  if (config.idle_stop) event_.wake();
  co_return outcome;
}

void Lifecycle::cancel(std::uint64_t ticket, const std::string& reason) {
  const auto found = tickets_.find(ticket);
  if (found != tickets_.end()) found->second->cancel(reason);
}

// An HTTP server is called from the shard the caller is on; the home shard is asked only for a
// link.
Task<call::Outcome> Lifecycle::forward_here(const call::Call& call, TimePoint deadline) {
  for (int attempt = 0;; ++attempt) {
    std::shared_ptr<Link> link = shared_[runtime::Shard::current().index()];
    if (!link || !link->alive()) {
      const std::function<Task<LinkResult>()> acquire_home = [this, deadline] {
        return acquire(deadline, nullptr);
      };
      LinkResult acquired = co_await runtime::run_on<LinkResult>(home, acquire_home);
      if (!acquired) {
        co_return outcome_of(acquired.error(), mcp::kLatestModern, config.name);
      }
      link = *acquired;
    }
    const Forward forward{call,     deadline,           config.call_timeout,
                          deadline, call.caller.cancel, nullptr};
    Reply reply = co_await link->forward(forward);
    // The server forgot the session (a restart): nothing was done, so once more on a new one.
    if (reply || attempt > 0 || reply.error().code != "upstream.session_expired") {
      co_return outcome_of(std::move(reply), link->facts().revision, config.name);
    }
  }
}

}  // namespace mcpx::upstream
