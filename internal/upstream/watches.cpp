#include "upstream/watches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

// Updates are passed on at once, and those that come within this time of the last together.
constexpr Milliseconds kTogether{20};
// That many different ones; after that, a resource below a watched one is told of as that one.
constexpr std::size_t kMostNews = 1'024;
// Requests to one legacy server at once when its session is new.
constexpr std::size_t kAtOnce = 16;

bool subscribes(const mcp::ServerFacts& facts) {
  return json::find(facts.capabilities, "resources", "subscribe") == "true";
}

}  // namespace

Watches::Watches(runtime::Shard& home, const config::Server& config, std::string owner, Hooks hooks)
    : home_(home),
      config_(config),
      owner_(std::move(owner)),
      hooks_(std::move(hooks)),
      alarm_(home, [this] { flush(); }),
      tasks_(home) {}

// --- Subscribing

Task<call::Outcome> Watches::add(std::string uri, TimePoint deadline) {
  Entry& entry = entries_[uri];
  ++entry.count;
  if (entry.on()) co_return call::Outcome::of_result("{}", entry.link->facts().revision);
  const auto waiting = std::make_shared<runtime::OneShot<Verdict>>();
  entry.waiting.push_back(waiting);
  if (!std::exchange(entry.working, true)) tasks_.spawn("watch", work(std::move(uri), deadline));
  Verdict verdict = co_await waiting->wait();
  if (verdict.refusal.empty()) co_return call::Outcome::of_result("{}", verdict.from);
  co_return call::Outcome::of_error(verdict.refusal, verdict.from);
}

void Watches::remove(const std::string& uri) {
  const auto found = entries_.find(uri);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  --entry.count;
  if (entry.count == 0 && !std::exchange(entry.working, true)) {
    tasks_.spawn("unwatch", work(uri, kNever));
  }
}

// Until what the server was told is what is wanted. The entry stays while this is at it.
Task<void> Watches::work(std::string uri, TimePoint deadline) {
  Entry& entry = entries_[uri];
  while (true) {
    if (entry.count > 0 && !entry.on() && !entry.waiting.empty()) {
      Verdict verdict = co_await ask(entry, uri, deadline);
      if (!verdict.refusal.empty()) entry.count -= entry.waiting.size();
      for (const auto& waiting : std::exchange(entry.waiting, {}))
        waiting->set(verdict);
    } else if (entry.count > 0 && !entry.waiting.empty()) {
      for (const auto& waiting : std::exchange(entry.waiting, {}))
        waiting->set(Verdict(std::string(), entry.link->facts().revision));
    } else if (entry.count == 0 && entry.link) {
      std::shared_ptr<Link> link = std::exchange(entry.link, nullptr);
      co_await link->unwatch(uri);
    } else {
      break;
    }
  }
  entry.working = false;
  if (entry.count == 0) entries_.erase(uri);
  if (entries_.empty() && hooks_.emptied) hooks_.emptied();
}

Task<Watches::Verdict> Watches::ask(Entry& entry, const std::string& uri, TimePoint deadline) {
  Error last = stopping_error(config_.name);
  for (int attempt = 0; attempt < 2; ++attempt) {
    LinkResult link = co_await hooks_.acquire(deadline);
    if (!link) co_return failure(mcp::kUpstreamFailure, link.error());
    std::shared_ptr<Link> asked = *link;
    if (!subscribes(asked->facts())) {
      co_return failure(
          rpc::kInvalidParams,
          Error("upstream.no_subscriptions",
                fmt::format("server {} offers no subscriptions to resources", config_.name),
                "read the resource again when it may have changed"));
    }
    Reply reply = co_await asked->watch(uri, deadline);
    if (reply && reply->kind == rpc::Kind::error) {
      co_return Verdict(std::string(reply->error), asked->facts().revision);
    }
    if (reply) {
      entry.link = asked;
      co_return Verdict(std::string(), asked->facts().revision);
    }
    last = reply.error();
    if (asked->alive()) break;  // else it was the link's fault, and another can be had
  }
  co_return failure(mcp::kUpstreamFailure, last);
}

Watches::Verdict Watches::failure(int code, const Error& error) const {
  const call::Outcome outcome = call::Outcome::of_failure(code, error, config_.name);
  return Verdict(std::string(outcome.error), outcome.from);
}

Task<void> Watches::stop() {
  alarm_.clear();
  co_await tasks_.join();
}

// --- A new link

Task<void> Watches::renew(std::shared_ptr<Link> link, TimePoint deadline) {
  const auto queue = std::make_shared<Queue>();
  for (auto& [uri, entry] : entries_) {
    if (entry.working || entry.link == link) continue;
    entry.working = true;
    queue->push_back(uri);
  }
  if (queue->empty()) co_return;
  log::info("server {}: {} resources are watched and subscribed to again", config_.name,
            queue->size());
  // A modern server is told of all in one filter.
  const bool modern = link->facts().era() == mcp::Era::modern;
  const std::size_t lanes = modern ? queue->size() : std::min(queue->size(), kAtOnce);
  runtime::TaskGroup renewing(home_);
  for (std::size_t i = 0; i < lanes; ++i) {
    renewing.spawn("renew watches", renew_some(link, queue, deadline));
  }
  co_await renewing.join();
  missed();
}

Task<void> Watches::renew_some(std::shared_ptr<Link> link, std::shared_ptr<Queue> queue,
                               TimePoint deadline) {
  while (!queue->empty()) {
    std::string uri = std::move(queue->back());
    queue->pop_back();
    Entry& entry = entries_[uri];  // stays, as it is worked at
    if (entry.count > 0) co_await ask_again(entry, link, uri, deadline);
    co_await work(std::move(uri), deadline);
  }
}

// A refusal now leaves the watch as it is: the next link is asked once more.
Task<void> Watches::ask_again(Entry& entry, std::shared_ptr<Link> link, std::string uri,
                              TimePoint deadline) {
  Reply reply = co_await link->watch(std::move(uri), deadline);
  if (reply && reply->kind != rpc::Kind::error) {
    entry.link = link;
  } else if (link->alive()) {
    const std::string why = reply ? json::find_string(reply->error, "message").value_or("refused")
                                  : reply.error().message;
    log::warning("server {}: updates of a resource that is watched will be missed: {}",
                 config_.name, excerpt(why));
  }
}

// --- What the server says

// "This might be a sub-resource of the one that the client actually subscribed to" (schema,
// ResourceUpdatedNotification): a URI is below another that it continues at a boundary.
void Watches::updated(const std::string& uri) {
  constexpr std::string_view kBoundaries = "/?#";
  const std::string_view whole = uri;
  for (std::size_t length = 1; length <= whole.size(); ++length) {
    const bool closed = kBoundaries.find(whole[length - 1]) != std::string_view::npos;
    const bool ends =
        length == whole.size() || kBoundaries.find(whole[length]) != std::string_view::npos;
    if (!closed && !ends) continue;
    const auto found = entries_.find(whole.substr(0, length));
    if (found != entries_.end() && found->second.count > 0) tell(found->first, uri);
  }
}

void Watches::missed() {
  for (const auto& [uri, entry] : entries_) {
    if (entry.count > 0) tell(uri, uri);
  }
}

void Watches::tell(const std::string& watched, const std::string& uri) {
  news_.emplace(watched, news_.size() < kMostNews ? uri : watched);
  const TimePoint when = told_at_ + kTogether;
  if (Clock::now() >= when) {
    flush();
  } else if (alarm_.deadline() == kNever) {
    alarm_.set(when);
  }
}

void Watches::flush() {
  if (news_.empty()) return;
  told_at_ = Clock::now();
  std::vector<ResourceUpdate> updates;
  for (const auto& [watched, uri] : news_)
    updates.emplace_back(owner_, watched, uri);
  news_.clear();
  hooks_.updated(std::move(updates));
}

}  // namespace mcpx::upstream
