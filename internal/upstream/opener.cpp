#include "upstream/opener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mcp/extensions.hpp"
#include "runtime/timer.hpp"
#include "upstream/questions.hpp"
#include "upstream/start_gate.hpp"

namespace mcpx::upstream {
namespace {

// A link that failed its start is ended without ceremony.
constexpr Milliseconds kNoGrace{0};

mcp::Protocol protocol_of(config::Protocol protocol) {
  switch (protocol) {
    case config::Protocol::modern:
      return mcp::Protocol::modern;
    case config::Protocol::legacy:
      return mcp::Protocol::legacy;
    case config::Protocol::automatic:
      break;
  }
  return mcp::Protocol::automatic;
}

// Only a server that was there and did not shake hands as its era would may be of the other one.
bool refutes_era(const Error& error) {
  return error.code == "upstream.handshake" || error.code == "upstream.exited" ||
         error.code == "upstream.start_timeout";
}

}  // namespace

Error stopping_error(const std::string& server) {
  return Error("upstream.stopped",
               fmt::format("server {} was stopped: the daemon ends, or a reload has replaced it or "
                           "removed it",
                           server),
               "call again; list the tools again if it is not there any more");
}

Opener::Opener(runtime::Shard& home, const config::Server& config, const Environment& environment)
    : home_(home), config_(config), environment_(environment) {}

Task<LinkResult> Opener::open(LinkEvents events, Purpose purpose) {
  StartGate::Turn turn;
  if (environment_.starts && !config_.is_http()) {
    turn = co_await environment_.starts->enter();
  }
  runtime::Watchdog turn_over(home_, [&turn] { turn.release(); });
  turn_over.set(Clock::now() + StartGate::kLongestTurn);
  const TimePoint deadline = Clock::now() + config_.start_timeout;
  const bool probes =
      !config_.is_http() && !era_ && config_.protocol == config::Protocol::automatic;
  LinkResult opened = co_await open_once(events, purpose, era_, deadline);
  // Some legacy servers exit on a request before `initialize`: once more, without the probe.
  if (!opened && probes && opened.error().code == "upstream.exited" && !stopping_) {
    opened = co_await open_once(std::move(events), purpose, mcp::Era::legacy, deadline);
  }
  if (opened) {
    const mcp::ServerFacts& facts = (*opened)->facts();
    learn(facts.era_is_certain ? std::optional(facts.revision) : std::nullopt);
  } else if (refutes_era(opened.error()) && !stopping_) {
    learn(std::nullopt);
  }
  co_return opened;
}

void Opener::learn(std::optional<mcp::Revision> revision) {
  std::optional<mcp::Era> era;
  if (revision) era = mcp::era_of(*revision);
  if (era == era_) return;
  era_ = era;
  if (on_era_) on_era_(revision);
}

Task<LinkResult> Opener::open_once(LinkEvents events, Purpose purpose,
                                   std::optional<mcp::Era> known_era, TimePoint deadline) {
  if (stopping_) co_return stopping_error(config_.name);
  LinkContext context{home_, config_, environment_, std::move(events)};
  context.one_caller = purpose.one_caller;
  LinkResult opened = stopping_error(config_.name);
  if (config_.is_http()) {
    opened = open_http(std::move(context));
  } else {
    opened = co_await open_stdio_link(std::move(context));
  }
  if (!opened) co_return redacted_error(environment_, opened.error());
  std::shared_ptr<Link> link = *opened;
  link->declare(purpose.askable);
  opening_.push_back(link);
  if (stopping_) link->hurry();  // stop() came while the process was being started

  mcp::Handshake::Options options;
  options.protocol = protocol_of(config_.protocol);
  options.known_era = known_era;
  options.client_info = environment_.client_info;
  options.client_capabilities = mcp::with_extensions(
      mcp::client_capabilities(purpose.askable),
      purpose.extensions ? std::string_view(*purpose.extensions) : mcp::kCarried);
  Result<mcp::ServerFacts> facts =
      co_await shake_hands(*link, std::move(options), config_.probe_timeout, deadline);
  std::erase(opening_, link);
  if (facts) {
    facts->fresh_until = Clock::now() + Milliseconds(std::min(facts->ttl_ms, kFreshAtMostMs));
    link->established(*facts);
    co_return link;
  }
  co_return co_await close_failed(std::move(link), facts.error());
}

// What TLS needs is read from files, which is not for every link to do. After a start that failed
// in TLS it is read anew: certificates are renewed under their old names.
Result<std::shared_ptr<Link>> Opener::open_http(LinkContext context) {
  if (!tls_ && config_.url.starts_with("https:")) {
    auto made = net::TlsContext::make({config_.tls.ca, config_.tls.cert, config_.tls.key});
    if (!made) {
      return Error("upstream.tls", fmt::format("server {}: {}", config_.name, made.error().message),
                   made.error().remedy);
    }
    tls_ = std::move(*made);
  }
  context.tls = tls_;
  return open_http_link(std::move(context));
}

// Ended before any retry (case C05).
Task<Error> Opener::close_failed(std::shared_ptr<Link> link, Error error) {
  stderr_ = link->stderr_tail();
  if (error.code == "upstream.tls") tls_.reset();
  if (error.code == "upstream.timeout") {
    error = Error("upstream.start_timeout",
                  fmt::format("server {} did not finish its handshake within {} ms", config_.name,
                              config_.start_timeout.count()),
                  "raise start_timeout for this server, or see its stderr");
  }
  co_await link->stop(kNoGrace);
  co_return redacted_error(environment_, std::move(error));
}

void Opener::stop() {
  stopping_ = true;
  for (const auto& link : opening_)
    link->hurry();
}

}  // namespace mcpx::upstream
