#include "upstream/listen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "log/log.hpp"
#include "mcp/error_codes.hpp"
#include "upstream/backoff.hpp"
#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

// A subscription that held this long starts a new count of failures.
constexpr Milliseconds kProven{30'000};

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

std::uint64_t random_bits() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine();
}

std::size_t index_of(mcp::ListKind kind) {
  // Templates are announced with the resources.
  if (kind == mcp::ListKind::resource_templates) kind = mcp::ListKind::resources;
  return static_cast<std::size_t>(kind);
}

std::optional<rpc::Number> subscription_of(const rpc::Message& notification) {
  const auto id = json::find(notification.params, "_meta", mcp::kMetaSubscriptionId);
  return id ? rpc::id_number(*id) : std::nullopt;
}

}  // namespace

Listener::Listener(runtime::Shard& home, const LinkEvents& events, Hold hold)
    : events_(events), hold_(std::move(hold)), pause_(home) {}

Task<void> Listener::run(const mcp::ServerFacts& facts, std::string client_info) {
  json::ObjectBuilder filter;
  for (const Offered& offered : kOffered) {
    const auto declared = json::find(facts.capabilities, offered.capability, "listChanged");
    if (!declared || *declared != "true") continue;
    filter.boolean(offered.member, true);
    wanted_[index_of(offered.kind)] = true;
  }
  if (wanted_ == Kinds{}) co_return;
  json::ObjectBuilder params;
  params.raw("_meta", mcp::modern_meta(facts.revision, client_info, "{}"));
  params.raw("notifications", filter.take());
  const std::string text = params.take();
  std::size_t failures = 0;
  while (!stopped_) {
    const TimePoint since = Clock::now();
    std::string copy = text;
    Reply end = co_await hold_(std::move(copy));
    over();
    if (stopped_ || !worth_another(end)) co_return;
    failures = Clock::now() - since > kProven ? 1 : failures + 1;
    reopened_ = true;
    const TimePoint when = Clock::now() + backoff_after(failures, random_bits());
    const bool reached = co_await pause_.sleep_until(when);
    static_cast<void>(reached);
  }
}

void Listener::opened(rpc::Number id) {
  id_ = id;
}

// A server that refuses the request by its kind goes on refusing it; anything else may pass.
bool Listener::worth_another(const Reply& end) {
  if (!end || end->kind != rpc::Kind::error) return true;
  const auto code = json::find(end->error, "code");
  const auto number = code ? json::as_integer(*code).value_or(0) : 0;
  if (number != rpc::kMethodNotFound && number != rpc::kInvalidParams) return true;
  remark(
      fmt::format("it declares listChanged and refuses subscriptions/listen: {}",
                  excerpt(json::find_string(end->error, "message").value_or("without a reason"))));
  return false;
}

bool Listener::take(const rpc::Message& notification, Channel channel) {
  const auto method = mcp::parse_method(notification.method);
  if (!method || !id_ || stopped_) return false;
  const auto subscription = subscription_of(notification);
  const bool untagged = !json::find(notification.params, "_meta", mcp::kMetaSubscriptionId);
  if (untagged ? channel == Channel::shared : subscription != id_) return false;
  switch (*method) {
    case mcp::Method::notify_subscriptions_acknowledged:
      acknowledged(notification.params);
      return true;
    case mcp::Method::notify_tools_list_changed:
      changed(mcp::ListKind::tools);
      return true;
    case mcp::Method::notify_prompts_list_changed:
      changed(mcp::ListKind::prompts);
      return true;
    case mcp::Method::notify_resources_list_changed:
      changed(mcp::ListKind::resources);
      return true;
    default:
      return false;
  }
}

std::optional<rpc::Number> Listener::cancelled_by(const rpc::Message& notification) {
  if (notification.method != "notifications/cancelled") return std::nullopt;
  const auto id = json::find(notification.params, "requestId");
  return id ? rpc::id_number(*id) : std::nullopt;
}

void Listener::acknowledged(json::Raw params) {
  std::string missing;
  for (const Offered& offered : kOffered) {
    const std::size_t at = index_of(offered.kind);
    agreed_[at] = wanted_[at] && json::find(params, "notifications", offered.member) == "true";
    if (!wanted_[at] || agreed_[at]) continue;
    if (!missing.empty()) missing += ", ";
    missing += offered.member;
  }
  if (!missing.empty()) {
    remark(fmt::format(
        "it declares listChanged and does not agree to {}; those lists are read again when they "
        "are stale",
        missing));
  }
  if (events_.covered) events_.covered();
  if (!std::exchange(reopened_, false)) return;
  for (const Offered& offered : kOffered) {
    if (agreed_[index_of(offered.kind)]) changed(offered.kind);
  }
}

void Listener::remark(const std::string& text) {
  if (events_.remark) events_.remark(text);
}

void Listener::over() {
  id_.reset();
  const bool covered = agreed_ != Kinds{};
  agreed_ = Kinds{};
  if (covered && !stopped_ && events_.covered) events_.covered();
}

void Listener::changed(mcp::ListKind kind) {
  events_.list_changed(kind);
  if (kind == mcp::ListKind::resources) events_.list_changed(mcp::ListKind::resource_templates);
}

bool Listener::covers(mcp::ListKind kind) const {
  return agreed_[index_of(kind)];
}

void Listener::stop() {
  stopped_ = true;
  pause_.cancel();
}

}  // namespace mcpx::upstream
