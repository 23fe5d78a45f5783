// EventLog: what happened to questions, numbered, for readers that follow and come back.
//
// The last kKept events are held. A reader names the last one it had; one that is too old, or of
// another run of the daemon, is told so and begins anew. Thread: home shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::broker {

struct Event {
  Event(std::string id_in, std::string json_in) : id(std::move(id_in)), json(std::move(json_in)) {}
  std::string id;    // "RUN-NUMBER"
  std::string json;  // raw: {"type","question"}
};

struct Batch {
  Batch() = default;
  std::vector<Event> events;  // empty: nothing has happened meanwhile
  bool full = false;          // too many wait for events
  bool missed = false;        // some that the reader has not had are gone
  std::string last;           // what to ask with next
};

class EventLog {
 public:
  static constexpr std::size_t kKept = 512;
  static constexpr std::size_t kReaders = 64;

  EventLog(runtime::Shard& shard, std::string run) : shard_(shard), run_(std::move(run)) {}

  void add(std::string json);
  // What came after `last` (empty: from now on), at once if there is something, else when there is
  // or `patience` is over.
  Task<Batch> after(std::string last, Milliseconds patience);
  void wake();  // whoever waits: something ends

 private:
  Batch batch_after(std::uint64_t number) const;

  runtime::Shard& shard_;
  const std::string run_;
  std::uint64_t last_ = 0;
  std::deque<std::pair<std::uint64_t, std::string>> events_;
  std::vector<std::shared_ptr<runtime::OneShot<bool>>> waiting_;
};

}  // namespace mcpx::broker
