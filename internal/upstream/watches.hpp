// Watches: the resources of one instance of a server that somebody downstream wants to be told of,
// counted, and on which link each is subscribed to.
//
// A watch outlives the link: a new one is told of all that is watched before its server is ready,
// and everybody is told once that each resource may have changed, since what was said meanwhile is
// lost. One coroutine at a time speaks of one URI, so that no unsubscribe overtakes a subscribe.
// Thread: home shard.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call/call.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "upstream/opener.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {

class Watches {
 public:
  using Acquire = std::function<Task<LinkResult>(TimePoint deadline)>;
  struct Hooks {
    Acquire acquire;  // the link to subscribe on, started if need be
    std::function<void(std::vector<ResourceUpdate>)> updated;  // for those who watch
    std::function<void()> emptied;                             // nothing is watched any more
  };

  // `owner` goes into the updates.
  Watches(runtime::Shard& home, const config::Server& config, std::string owner, Hooks hooks);

  // Watches once more. The outcome is an error, the server's own if it has one, when it cannot be
  // watched; then nothing is held.
  Task<call::Outcome> add(std::string uri, TimePoint deadline);
  void remove(const std::string& uri);  // undoes one add()
  // The instance has a new link: subscribes to all that is watched, within the deadline, and tells
  // everybody of it.
  Task<void> renew(std::shared_ptr<Link> link, TimePoint deadline);
  void updated(const std::string& uri);
  void missed();
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  Task<void> stop();  // once no link is left to wait for

 private:
  struct Verdict {
    Verdict() = default;
    Verdict(std::string refusal_in, mcp::Revision from_in)
        : refusal(std::move(refusal_in)), from(from_in) {}
    std::string refusal;  // an error object; empty: watched
    mcp::Revision from = mcp::kLatestModern;
  };
  struct Entry {
    std::size_t count = 0;
    std::shared_ptr<Link> link;  // on which it is subscribed to
    bool working = false;        // work() is at it
    std::vector<std::shared_ptr<runtime::OneShot<Verdict>>> waiting;
    bool on() const { return link && link->alive(); }
  };
  using Queue = std::vector<std::string>;

  Task<void> work(std::string uri, TimePoint deadline);
  Task<Verdict> ask(Entry& entry, const std::string& uri, TimePoint deadline);
  Task<void> renew_some(std::shared_ptr<Link> link, std::shared_ptr<Queue> queue,
                        TimePoint deadline);
  Task<void> ask_again(Entry& entry, std::shared_ptr<Link> link, std::string uri,
                       TimePoint deadline);
  Verdict failure(int code, const Error& error) const;
  void tell(const std::string& watched, const std::string& uri);
  void flush();

  runtime::Shard& home_;
  const config::Server& config_;
  std::string owner_;
  Hooks hooks_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::pair<std::string, std::string>> news_;  // watched, updated
  TimePoint told_at_{};
  runtime::Watchdog alarm_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::upstream
