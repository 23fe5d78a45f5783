// EventStream: what one event stream says, as numbered events, and who writes them at the moment.
//
// A stream outlives its connection where a client may come back for the rest: then Replays holds
// it, and what was written stays until that has no room for it. Else an event goes with its
// writing. What waits for a reader that is slow is bounded; the oldest notifications go first,
// responses never. Thread: home shard only, except where a member says otherwise.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "http/server.hpp"
#include "runtime/shard.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::downstream {

class Replays;

class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  static constexpr std::size_t kWaitingEvents = 256;
  static constexpr std::size_t kWaitingBytes = 4 * 1024 * 1024;

  enum class Kind : std::uint8_t { notification, response };
  struct Event {
    Event(std::uint64_t number_in, Kind kind_in, std::shared_ptr<const std::string> text_in)
        : number(number_in), kind(kind_in), text(std::move(text_in)) {}
    std::uint64_t number;  // from 1
    Kind kind;
    std::shared_ptr<const std::string> text;
  };

  // Whoever writes the events to a client. There is one at a time: the newest.
  struct Reader {
    explicit Reader(std::uint64_t after) : at(after) {}
    std::uint64_t at;  // the last event it took
    bool left = false, superseded = false, quiet = false;
    runtime::Waiter more;
  };
  using ReaderPtr = std::shared_ptr<Reader>;

  enum class Next : std::uint8_t { events, quiet, complete, superseded, left };
  struct Batch {
    Batch() = default;
    Next next = Next::events;
    std::vector<Event> events;
  };

  explicit EventStream(runtime::Shard& home) : home_(home) {}
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  void add(std::string text, Kind kind);
  void add_once(std::string text);  // a notification, unless one of that text waits already
  void close();                     // nothing follows
  void abandon();                   // nobody will ever read the rest

  ReaderPtr attach(std::uint64_t after);  // the reader before it is superseded
  Task<Batch> next(ReaderPtr reader);
  void leave(const ReaderPtr& reader);  // any shard: its next() ends
  void nudge(const ReaderPtr& reader);  // any shard: its next() ends if it has nothing

  void on_close(std::function<void()> told) { on_close_ = std::move(told); }

  // For Replays: what a client needs to come back. The prefix stands before the number in event
  // ids; the request's id is for the answer that says that the real one could not be kept.
  void keep_for(Replays& replays, std::uint64_t number, std::string id_prefix,
                std::string request_id);
  void forget_replays() { replays_ = nullptr; }
  // Gives up the oldest event that may go. False: there is none.
  bool drop_oldest();

  runtime::Shard& home() const { return home_; }
  std::uint64_t number() const { return number_; }
  std::string id_of(std::uint64_t event) const;  // empty: not resumable. Any shard
  bool resumable() const { return !prefix_.empty(); }
  bool closed() const { return closed_; }
  bool read() const { return reader_ != nullptr; }  // somebody is there
  bool empty() const { return events_.empty(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return events_.size(); }
  bool knows(std::uint64_t event) const { return event <= last_; }

 private:
  using Place = std::deque<Event>::iterator;

  Place first_after(std::uint64_t event);
  void remove(Place place);
  void bound_waiting();
  bool replace_lost_answer();
  void take(Reader& reader, Batch& batch);
  void let_go(const ReaderPtr& reader);

  runtime::Shard& home_;
  std::deque<Event> events_;  // by number
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;   // number of the newest
  std::uint64_t taken_ = 0;  // number of the last one that a reader took
  bool closed_ = false;
  bool abandoned_ = false;
  bool answer_lost_ = false;
  std::function<void()> on_close_;
  ReaderPtr reader_;
  Replays* replays_ = nullptr;
  std::uint64_t number_ = 0;  // of the stream
  std::string prefix_, request_id_;
};

// Writes what `reader` gets from `stream` to `exchange`, which streams already, until there is
// nothing more, the client goes or another reader takes over. Thread: the exchange's shard.
Task<void> write_events(http::Exchange& exchange, std::shared_ptr<EventStream> stream,
                        EventStream::ReaderPtr reader, Milliseconds keep_alive);

}  // namespace mcpx::downstream
