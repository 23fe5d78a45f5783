#include "downstream/replays.hpp"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace mcpx::downstream {
namespace {

// Long enough for a client to find a network again.
constexpr Milliseconds kKept{300'000};

// A number in hexadecimal up to `end` (or the end of the text), which is taken off too.
template <class Number>
bool take_number(std::string_view& text, char end, Number& out) {
  const std::size_t at = end == '\0' ? text.size() : text.find(end);
  if (at == std::string_view::npos || at == 0) return false;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + at, out, 16);
  if (failure != std::errc() || stop != text.data() + at) return false;
  text.remove_prefix(end == '\0' ? at : at + 1);
  return true;
}

}  // namespace

std::optional<EventId> parse_event_id(std::string_view text) {
  EventId id;
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || dash + 1 >= text.size()) return std::nullopt;
  id.run = text.substr(0, dash);
  const char kind = text[dash + 1];
  if (kind != static_cast<char>(EventId::Kind::call) &&
      kind != static_cast<char>(EventId::Kind::session)) {
    return std::nullopt;
  }
  id.kind = static_cast<EventId::Kind>(kind);
  text.remove_prefix(dash + 2);
  const bool ok = take_number(text, '.', id.shard) && take_number(text, '.', id.stream) &&
                  take_number(text, '\0', id.event);
  if (!ok) return std::nullopt;
  return id;
}

std::string random_run() {
  std::uint32_t bits = 0;
  MCPX_CHECK(getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return fmt::format("{:08x}", bits);
}

Replays::Replays(runtime::Shard& shard, std::string_view run, std::function<ReplayLimits()> limits)
    : shard_(shard), run_(run), limits_(std::move(limits)), expiry_(shard, [this] { expire(); }) {}

Replays::~Replays() {
  for (auto& [number, item] : streams_)
    item.stream->forget_replays();
}

void Replays::keep(const std::shared_ptr<EventStream>& stream, SessionPtr session,
                   EventId::Kind kind, std::string_view request_id) {
  const std::uint64_t number = ++last_;
  std::string prefix =
      fmt::format("{}-{}{:x}.{:x}.", run_, static_cast<char>(kind), shard_.index(), number);
  stream->keep_for(*this, number, std::move(prefix), std::string(request_id));
  by_session_.emplace(session.get(), number);
  Item& item = streams_[number];
  item.stream = stream;
  item.session = std::move(session);
  item.kind = kind;
}

std::shared_ptr<EventStream> Replays::find(const EventId& id, const Session& session) const {
  const auto found = streams_.find(id.stream);
  if (found == streams_.end() || found->second.session.get() != &session) return nullptr;
  const auto& stream = found->second.stream;
  return stream->knows(id.event) ? stream : nullptr;
}

bool Replays::enabled() const {
  const ReplayLimits limits = limits_();
  return limits.events != 0 && limits.bytes != 0;
}

bool Replays::over(const Session& session, const ReplayLimits& limits) {
  return session.live.replay_events.load(std::memory_order_relaxed) > limits.events ||
         session.live.replay_bytes.load(std::memory_order_relaxed) > limits.bytes;
}

void Replays::gained(EventStream& stream, std::size_t events, std::size_t bytes) {
  const SessionPtr session = streams_.at(stream.number()).session;
  session->live.replay_events.fetch_add(events, std::memory_order_relaxed);
  session->live.replay_bytes.fetch_add(bytes, std::memory_order_relaxed);
  bytes_ += bytes;
  const ReplayLimits limits = limits_();
  if (over(*session, limits) || bytes_ > limits.total_bytes) make_room(*session, limits);
}

void Replays::lost(EventStream& stream, std::size_t events, std::size_t bytes) {
  const Session& session = *streams_.at(stream.number()).session;
  session.live.replay_events.fetch_sub(events, std::memory_order_relaxed);
  session.live.replay_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  bytes_ -= bytes;
}

void Replays::make_room(const Session& session, const ReplayLimits& limits) {
  std::vector<std::uint64_t> finished;
  const auto shrink = [&finished](EventStream& stream, const auto& too_much) {
    while (too_much() && stream.drop_oldest()) {
    }
    if (stream.closed() && stream.empty()) finished.push_back(stream.number());
    return too_much();
  };
  for (auto own = by_session_.lower_bound({&session, 0});
       own != by_session_.end() && own->first == &session; ++own) {
    const auto session_over = [&session, &limits] { return over(session, limits); };
    if (!shrink(*streams_.at(own->second).stream, session_over)) break;
  }
  const auto all_over = [this, &limits] { return bytes_ > limits.total_bytes; };
  for (auto& [number, item] : streams_) {
    if (!shrink(*item.stream, all_over)) break;
  }
  for (const std::uint64_t number : finished) {
    const auto place = streams_.find(number);
    if (place != streams_.end()) erase(place);
  }
}

void Replays::erase(Streams::iterator place) {
  const Item item = std::move(place->second);
  const EventStream& stream = *item.stream;
  item.session->live.replay_events.fetch_sub(stream.size(), std::memory_order_relaxed);
  item.session->live.replay_bytes.fetch_sub(stream.bytes(), std::memory_order_relaxed);
  bytes_ -= stream.bytes();
  by_session_.erase({item.session.get(), place->first});
  streams_.erase(place);
  item.stream->forget_replays();
}

void Replays::drop(EventStream& stream) {
  const auto place = streams_.find(stream.number());
  if (place != streams_.end()) erase(place);
}

void Replays::keep_for_now(EventStream& stream) {
  const TimePoint until = Clock::now() + kKept;
  streams_.at(stream.number()).keep_until = until;
  if (expiry_.deadline() == kNever) expiry_.set(until);
}

void Replays::closed(EventStream& stream) {
  keep_for_now(stream);
}

// A call ends its stream by itself.
void Replays::left_alone(EventStream& stream) {
  if (streams_.at(stream.number()).kind == EventId::Kind::session) keep_for_now(stream);
}

void Replays::read_again(EventStream& stream) {
  if (!stream.closed()) streams_.at(stream.number()).keep_until = kNever;
}

void Replays::end_session(const Session& session) {
  while (true) {
    const auto own = by_session_.lower_bound({&session, 0});
    if (own == by_session_.end() || own->first != &session) return;
    erase(streams_.find(own->second));
  }
}

void Replays::forget_left(const Session& session) {
  std::vector<std::uint64_t> left;
  for (auto own = by_session_.lower_bound({&session, 0});
       own != by_session_.end() && own->first == &session; ++own) {
    const Item& item = streams_.at(own->second);
    if (item.kind == EventId::Kind::session && !item.stream->read()) left.push_back(own->second);
  }
  for (const std::uint64_t number : left) {
    const std::shared_ptr<EventStream> stream = streams_.at(number).stream;
    erase(streams_.find(number));
    stream->abandon();
  }
}

void Replays::expire() {
  const TimePoint now = Clock::now();
  TimePoint next = kNever;
  for (auto place = streams_.begin(); place != streams_.end();) {
    const auto here = place++;
    const TimePoint until = here->second.keep_until;
    if (until <= now) {
      const std::shared_ptr<EventStream> stream = here->second.stream;
      erase(here);
      stream->abandon();
    } else {
      next = std::min(next, until);
    }
  }
  if (next != kNever) expiry_.set(next);
}

}  // namespace mcpx::downstream
