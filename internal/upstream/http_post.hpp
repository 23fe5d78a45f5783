// Post: one POST of an HttpLink and what has become of it. Internal to http_*.cpp.
// Thread: the shard that sends it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "upstream/http_link.hpp"
#include "upstream/mirrored.hpp"

namespace mcpx::upstream {

// Before a broken stream is asked for again, unless the server names another time.
inline constexpr Milliseconds kRetry{1'000};
// Whatever it names: `retry: 0` and a stream that ends at once would be asked for without a pause.
inline constexpr Milliseconds kLeastRetry{100};

// The id of the last event, for Last-Event-ID. One that is no header of reasonable length is none.
inline void note_id(std::string& last, const std::optional<std::string>& id) {
  constexpr std::size_t kLongest = 4'096;
  if (id) last = id->size() <= kLongest ? *id : std::string();
}

struct HttpLink::Post {
  std::string_view method;
  rpc::Number number = 0;
  std::string id;        // number as a raw token; empty for a notification or an answer
  Mirrored mirrored;     // of a modern request
  std::string envelope;  // of the body, up to its params; empty: the body stands alone
  std::string body;
  TimePoint deadline = kNever;
  runtime::CancelSource* cancel = nullptr;
  Relay* relay = nullptr;                    // of a call: what the server says of it meanwhile
  bool resumable = false;                    // a legacy request: GET brings what its stream did not
  bool listens = false;                      // it is the Listener's
  std::optional<runtime::Watchdog> overdue;  // once its deadline was held and went on

  // What has become of it.
  unsigned status = 0;
  std::optional<Reply> outcome;  // set once, by whoever knows
  std::string last_event_id;
  Milliseconds retry = kRetry;
  Milliseconds patience{0};            // on top, while reopening brings nothing
  Error broken;                        // why its stream ended before the answer
  runtime::Timer* sleeping = nullptr;  // between two streams
  http::Response* reading = nullptr;
  std::optional<runtime::CancelSource> resuming;       // ends the wait for the next stream
  runtime::CancelSource::Subscription caller_gave_up;  // fires `resuming`
  Post *next = nullptr, *previous = nullptr;

  void settle(Reply reply) {
    if (!outcome) outcome.emplace(std::move(reply));
  }
  // Makes whatever it waits for end now.
  void interrupt() {
    if (sleeping) sleeping->cancel();
    if (reading) reading->close();
    if (resuming) resuming->cancel("it is over");
  }
};

// Enters a Post into its shard's list for as long as it is in flight.
class HttpLink::InFlight {
 public:
  InFlight(Local& local, Post& post) : local_(local), post_(post) {
    post.next = local.first;
    if (local.first) local.first->previous = &post;
    local.first = &post;
  }
  ~InFlight() {
    if (post_.next) post_.next->previous = post_.previous;
    if (post_.previous) {
      post_.previous->next = post_.next;
    } else {
      local_.first = post_.next;
    }
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  Local& local_;
  Post& post_;
};

}  // namespace mcpx::upstream
