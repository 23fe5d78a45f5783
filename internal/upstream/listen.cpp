#include "upstream/listen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "upstream/backoff.hpp"
#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

// A subscription that held this long starts a new count of failures.
constexpr Milliseconds kProven{30'000};
// A server that does not acknowledge within this time is taken to have agreed to nothing.
constexpr Milliseconds kAcknowledgement{10'000};

constexpr std::string_view kResources = "resourceSubscriptions";

// The notifications one can ask for, by the capability that offers each.
struct Offered {
  mcp::ListKind kind;
  std::string_view capability, member;
};
constexpr std::array<Offered, 3> kOffered = {{
    {mcp::ListKind::tools, "tools", "toolsListChanged"},
    {mcp::ListKind::prompts, "prompts", "promptsListChanged"},
    {mcp::ListKind::resources, "resources", "resourcesListChanged"},
}};

std::size_t index_of(mcp::ListKind kind) {
  // Templates are announced with the resources.
  if (kind == mcp::ListKind::resource_templates) kind = mcp::ListKind::resources;
  return static_cast<std::size_t>(kind);
}

std::string array_of(const std::set<std::string>& texts) {
  std::string array = "[";
  for (const std::string& text : texts) {
    if (array.size() > 1) array += ',';
    json::append_string(array, text);
  }
  return array + "]";
}

std::set<std::string> strings_of(json::Raw array) {
  std::set<std::string> texts;
  if (!json::is_array(array)) return texts;
  json::Elements elements(array);
  while (const auto element = elements.next()) {
    if (auto text = json::decode_string(*element)) texts.insert(std::move(*text));
  }
  return texts;
}

std::string words_of(const Reply& end) {
  if (!end) return end.error().message;
  const auto message = json::find_string(end->error, "message");
  return excerpt(message.value_or("without a reason"));
}

std::int64_t code_of(const Reply& end) {
  const auto code = json::find(end->error, "code");
  return code ? json::as_integer(*code).value_or(0) : 0;
}

Error not_subscribed(const std::string& why) {
  return Error("upstream.not_subscribed",
               fmt::format("the server does not announce updates of that resource: {}", why),
               "read the resource again when it may have changed");
}

}  // namespace

Listener::Listener(runtime::Shard& home, const LinkEvents& events, Hold hold, Close close)
    : home_(home),
      events_(events),
      hold_(std::move(hold)),
      close_(std::move(close)),
      alarm_(home, [this] { event_.wake(); }),
      streams_(home) {}

Task<void> Listener::run(const mcp::ServerFacts& facts, std::string client_info) {
  for (const Offered& offered : kOffered) {
    const auto declared = json::find(facts.capabilities, offered.capability, "listChanged");
    wanted_[index_of(offered.kind)] = declared && *declared == "true";
  }
  meta_ = mcp::modern_meta(facts.revision, client_info, "{}");
  while (!stopped_) {
    sweep();
    if (due()) open();
    arm();
    co_await event_.wait();
  }
  co_await streams_.join();
}

// --- Opening and closing

std::set<std::string> Listener::next_uris() const {
  std::set<std::string> uris;
  bool another = true;
  for (const auto& [uri, watch] : watches_) {
    if (watch.agreed) uris.insert(uri);
    if (watch.agreed || !another) continue;
    uris.insert(uri);
    if (one_by_one_) another = false;
  }
  return uris;
}

bool Listener::due() const {
  if (opening_ || refuses_ || Clock::now() < retry_at_) return false;
  if (current_) return changed_;
  return wanted_ != Kinds{} || !watches_.empty();
}

void Listener::open() {
  changed_ = false;
  std::set<std::string> uris = next_uris();
  if (wanted_ == Kinds{} && uris.empty()) {
    close(std::exchange(current_, nullptr));
    return;
  }
  json::ObjectBuilder filter;
  for (const Offered& offered : kOffered) {
    if (wanted_[index_of(offered.kind)]) filter.boolean(offered.member, true);
  }
  if (!uris.empty()) filter.raw(kResources, array_of(uris));
  json::ObjectBuilder params;
  params.raw("_meta", meta_).raw("notifications", filter.take());
  opening_ = std::make_shared<Stream>();
  opening_->uris = std::move(uris);
  opening_->since = Clock::now();
  streams_.spawn("subscription", hold(opening_, params.take()));
}

Task<void> Listener::hold(StreamPtr stream, std::string params) {
  Reply end = co_await hold_(std::move(params), stream->id);
  stream->end = std::move(end);
  stream->ended = true;
  event_.wake();
}

void Listener::close(const StreamPtr& stream) {
  if (stream && stream->id && !stream->ended) close_(*stream->id);
}

void Listener::arm() {
  TimePoint when = kNever;
  if (opening_) {
    when = opening_->since + kAcknowledgement;
  } else if (Clock::now() < retry_at_) {
    when = retry_at_;
  }
  when == kNever ? alarm_.clear() : alarm_.set(when);
}

// --- What has become of them

void Listener::sweep() {
  if (opening_ && opening_->ended) {
    opening_ended();
  } else if (opening_ && !opening_->acknowledged &&
             Clock::now() >= opening_->since + kAcknowledgement) {
    unanswered();
  }
  if (current_ && current_->ended) current_ended();
}

// A server that refuses the request by its kind goes on refusing it; one that refuses a filter with
// new resources may mean one of them; anything else may pass.
void Listener::opening_ended() {
  const StreamPtr stream = std::exchange(opening_, nullptr);
  const bool refused = stream->end && stream->end->kind == rpc::Kind::error;
  std::set<std::string> fresh;
  for (const std::string& uri : stream->uris) {
    const auto found = watches_.find(uri);
    if (found != watches_.end() && !found->second.agreed) fresh.insert(uri);
  }
  changed_ = true;
  if (refused && code_of(stream->end) == rpc::kMethodNotFound) {
    refused_for_good(stream->end);
  } else if (refused && fresh.size() > 1) {
    one_by_one_ = true;
  } else if (refused && fresh.size() == 1) {
    refuse(fresh, not_subscribed(words_of(stream->end)));
  } else if (refused && code_of(stream->end) == rpc::kInvalidParams && !current_) {
    refused_for_good(stream->end);
  } else {
    reopened_ = reopened_ || !current_;
    back_off(*stream);
  }
}

void Listener::refused_for_good(const Reply& end) {
  refuses_ = true;
  remark(
      fmt::format("it declares listChanged and refuses subscriptions/listen: {}", words_of(end)));
  std::set<std::string> all;
  for (const auto& [uri, watch] : watches_)
    all.insert(uri);
  refuse(all, not_subscribed(words_of(end)));
}

void Listener::current_ended() {
  const StreamPtr stream = std::exchange(current_, nullptr);
  reopened_ = true;
  back_off(*stream);
  const bool covered = agreed_ != Kinds{};
  agreed_ = Kinds{};
  if (covered && events_.covered) events_.covered();
}

void Listener::back_off(const Stream& stream) {
  const TimePoint now = Clock::now();
  failures_ = now - stream.since > kProven ? 1 : failures_ + 1;
  retry_at_ = now + backoff_after(failures_);
}

// It may yet announce what it declares, so it is kept; one that would take the place of another is
// not.
void Listener::unanswered() {
  const StreamPtr stream = std::exchange(opening_, nullptr);
  refuse(stream->uris, not_subscribed("it did not acknowledge the subscription"));
  if (current_) {
    close(stream);
  } else {
    current_ = stream;
  }
}

// --- What the server says

Listener::StreamPtr Listener::stream_of(const rpc::Message& notification,
                                        std::optional<rpc::Number> own) const {
  std::optional<rpc::Number> id = own;
  if (const auto tag = json::find(notification.params, "_meta", mcp::kMetaSubscriptionId)) {
    id = rpc::id_number(*tag);
    if (own && id != own) return nullptr;
  }
  if (!id) return nullptr;
  if (current_ && current_->id == id) return current_;
  if (opening_ && opening_->id == id) return opening_;
  return nullptr;
}

bool Listener::take(const rpc::Message& notification, std::optional<rpc::Number> own) {
  const StreamPtr stream = stopped_ ? nullptr : stream_of(notification, own);
  if (!stream) return false;
  if (notification.method == mcp::info(mcp::Method::notify_subscriptions_acknowledged).name) {
    acknowledged(stream, notification.params);
    return true;
  }
  const auto kind = announced_list(notification.method);
  const bool updated = notification.method == mcp::info(mcp::Method::notify_resources_updated).name;
  if (!kind && !updated) return false;
  if (current_ && stream != current_) return true;  // that one says it, too
  if (kind) events_.list_changed(*kind);
  if (updated) tell_update(events_, notification.params);
  return true;
}

std::optional<rpc::Number> Listener::cancelled_by(const rpc::Message& notification) {
  if (notification.method != "notifications/cancelled") return std::nullopt;
  const auto id = json::find(notification.params, "requestId");
  return id ? rpc::id_number(*id) : std::nullopt;
}

bool Listener::is_open(rpc::Number id) const {
  return (current_ && current_->id == id) || (opening_ && opening_->id == id);
}

void Listener::acknowledged(const StreamPtr& stream, json::Raw params) {
  stream->acknowledged = true;
  if (stream == opening_) {
    close(std::exchange(current_, std::exchange(opening_, nullptr)));
  }
  const json::Raw agreed = json::find(params, "notifications").value_or("{}");
  check_kinds(agreed);
  check_uris(*stream, agreed);
  if (events_.covered) events_.covered();
  event_.wake();
  if (!std::exchange(reopened_, false)) return;
  for (const Offered& offered : kOffered) {
    if (agreed_[index_of(offered.kind)]) events_.list_changed(offered.kind);
  }
  if (!stream->uris.empty() && events_.missed) events_.missed();
}

void Listener::check_kinds(json::Raw agreed) {
  std::string missing;
  for (const Offered& offered : kOffered) {
    const std::size_t at = index_of(offered.kind);
    agreed_[at] = wanted_[at] && json::find(agreed, offered.member) == "true";
    if (!wanted_[at] || agreed_[at]) continue;
    if (!missing.empty()) missing += ", ";
    missing += offered.member;
  }
  if (missing.empty()) return;
  remark(
      fmt::format("it declares listChanged and does not agree to {}; those lists are read again "
                  "when they are stale",
                  missing));
}

void Listener::check_uris(const Stream& stream, json::Raw agreed) {
  const std::set<std::string> honoured = strings_of(json::find(agreed, kResources).value_or("[]"));
  std::set<std::string> refused;
  for (const std::string& uri : stream.uris) {
    const auto found = watches_.find(uri);
    if (found == watches_.end()) continue;
    if (honoured.count(uri) == 0) {
      if (found->second.agreed) {
        remark(fmt::format("it no longer agrees to announce updates of {}", excerpt(uri)));
      } else {
        refused.insert(uri);
      }
      continue;
    }
    found->second.agreed = true;
    for (const Verdict& verdict : std::exchange(found->second.waiting, {}))
      verdict->set(Result<void>());
  }
  refuse(refused, not_subscribed("it does not agree to that subscription"));
  if (!waiting_for_any()) one_by_one_ = false;
}

// What was agreed to once is asked for again with every subscription.
void Listener::refuse(const std::set<std::string>& uris, const Error& why) {
  for (const std::string& uri : uris) {
    const auto found = watches_.find(uri);
    if (found == watches_.end() || found->second.agreed) continue;
    for (const Verdict& verdict : found->second.waiting)
      verdict->set(why);
    watches_.erase(found);
  }
}

bool Listener::waiting_for_any() const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [](const auto& entry) { return !entry.second.agreed; });
}

void Listener::remark(const std::string& text) {
  if (events_.remark) events_.remark(text);
}

// Nothing announces that the skills changed: they live by their ttlMs.
bool Listener::covers(mcp::ListKind kind) const {
  return agreed_[index_of(kind)];
}

// --- Resources

Task<Result<void>> Listener::watch(std::string uri, TimePoint deadline) {
  if (stopped_) co_return Error("upstream.stopped", "the server is being stopped");
  if (refuses_) co_return not_subscribed("it refuses subscriptions/listen");
  Watch& watch = watches_[uri];
  if (watch.agreed) co_return Result<void>();
  const auto verdict = std::make_shared<runtime::OneShot<Result<void>>>();
  watch.waiting.push_back(verdict);
  changed_ = true;
  event_.wake();
  runtime::Watchdog patience(home_, [this, uri, verdict] {
    const bool decided = verdict->set(
        Error("upstream.timeout", "the server did not acknowledge the subscription in time",
              "raise call_timeout for this server, or see what it is doing"));
    if (decided) unwatch(uri);
  });
  if (deadline != kNever) patience.set(deadline);
  Result<void> agreed = co_await verdict->wait();
  co_return agreed;
}

void Listener::unwatch(const std::string& uri) {
  const auto found = watches_.find(uri);
  if (found == watches_.end()) return;
  for (const Verdict& verdict : found->second.waiting)
    verdict->set(Error("request.cancelled", "the subscription is not wanted any more"));
  watches_.erase(found);
  changed_ = true;
  event_.wake();
}

void Listener::stop() {
  stopped_ = true;
  agreed_ = Kinds{};
  for (auto& [uri, watch] : watches_) {
    for (const Verdict& verdict : std::exchange(watch.waiting, {}))
      verdict->set(Error("upstream.stopped", "the server is being stopped"));
  }
  event_.wake();
}

}  // namespace mcpx::upstream
