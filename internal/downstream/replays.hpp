// Replays: the event streams of one shard that a client may come back for with Last-Event-ID
// (2025-11-25 basic/transports, "Resumability and Redelivery").
//
// Event ids name the run of the daemon, the shard, the stream and the event, so that an id leads to
// one stream and none is ever used twice. What is kept is bounded per session (limits.replay,
// limits.replay_events) and in all (limits.replay_total, this shard's share of it): the oldest
// events go first. A stream that has ended, or that a session has and nobody reads, is kept for
// five minutes. Thread: home shard only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "downstream/event_stream.hpp"
#include "downstream/session.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {

struct ReplayLimits {
  std::size_t events = 0, bytes = 0;  // of a session; 0: no stream can be resumed
  std::size_t total_bytes = 0;        // of this shard
};

// "1f3a5c79-c0.2b.5": the run, the kind of stream, the shard, the stream, the event.
struct EventId {
  enum class Kind : char { call = 'c', session = 's' };
  std::string_view run;
  Kind kind = Kind::call;
  std::size_t shard = 0;
  std::uint64_t stream = 0, event = 0;
};
std::optional<EventId> parse_event_id(std::string_view text);
std::string random_run();  // eight hex digits that tell this run of the daemon from others

class Replays {
 public:
  // `limits` answers those in force: a reload may change them.
  Replays(runtime::Shard& shard, std::string_view run, std::function<ReplayLimits()> limits);
  ~Replays();
  Replays(const Replays&) = delete;
  Replays& operator=(const Replays&) = delete;

  bool enabled() const;
  // From now on the stream's events have ids and can be asked for again. `request_id` is the raw
  // token of the request it answers, or empty.
  void keep(const std::shared_ptr<EventStream>& stream, SessionPtr session, EventId::Kind kind,
            std::string_view request_id);
  // Null: there is none, or it is another session's.
  std::shared_ptr<EventStream> find(const EventId& id, const Session& session) const;
  void end_session(const Session& session);
  // The session's own streams that nobody reads: there is a newer one.
  void forget_left(const Session& session);
  std::size_t size() const { return streams_.size(); }
  std::size_t bytes() const { return bytes_; }

  // By the streams.
  void gained(EventStream& stream, std::size_t events, std::size_t bytes);
  void lost(EventStream& stream, std::size_t events, std::size_t bytes);
  void closed(EventStream& stream);
  void left_alone(EventStream& stream);  // nobody reads it any more
  void read_again(EventStream& stream);
  void drop(EventStream& stream);

 private:
  struct Item {
    std::shared_ptr<EventStream> stream;
    SessionPtr session;
    EventId::Kind kind = EventId::Kind::call;
    TimePoint keep_until = kNever;
  };
  using Streams = std::map<std::uint64_t, Item>;

  static bool over(const Session& session, const ReplayLimits& limits);
  void make_room(const Session& session, const ReplayLimits& limits);
  void erase(Streams::iterator place);
  void keep_for_now(EventStream& stream);
  void expire();

  runtime::Shard& shard_;
  std::string_view run_;
  std::function<ReplayLimits()> limits_;
  Streams streams_;  // by number, so by age
  std::set<std::pair<const Session*, std::uint64_t>> by_session_;
  std::uint64_t last_ = 0;
  std::size_t bytes_ = 0;
  runtime::Watchdog expiry_;
};

}  // namespace mcpx::downstream
