// Book: all calls that became tasks: those that a server calls a task itself, in either era, and
// those that mcpx waits for because they take long (`tasks.after`).
//
// Each has an id of ours and a driver that finds out how it goes on, so that its result is here
// when its server is gone, and its clients can be told of changes. A handle is given out when it is
// in the store; what came of a task is there before anybody hears of it. After a restart those of
// servers go on, the others have failed. Bounded per owner (`tasks.limit`) and by `tasks.ttl_max`.
// A book that is shut down makes no tasks and asks its servers on for `shutdown_grace` at most.
// Thread: home shard; values go in and come out.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "call/call.hpp"
#include "config/config.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "tasks/job.hpp"
#include "tasks/state.hpp"
#include "upstream/server.hpp"

namespace mcpx::store {
class Store;
struct TaskRow;
}  // namespace mcpx::store

namespace mcpx::tasks {

// A task that a server has made for a call.
struct Made {
  Made(std::string server_in, mcp::Era era_in, Report report_in, Owner owner_in, Origin origin_in)
      : server(std::move(server_in)),
        era(era_in),
        report(std::move(report_in)),
        owner(std::move(owner_in)),
        origin(std::move(origin_in)) {}
  std::string server;
  mcp::Era era;
  Report report;
  Owner owner;
  Origin origin;
};

// A state, or a raw JSON-RPC error.
struct Told {
  Told() = default;
  explicit Told(State state_in) : state(std::move(state_in)) {}
  explicit Told(std::string error_in) : error(std::move(error_in)) {}
  std::optional<State> state;
  std::string error;
};

class Book {
 public:
  struct Hooks {
    std::function<std::shared_ptr<upstream::Server>(std::string_view)> server;
    std::function<const config::Config&()> config;
    // A task is another one now than its owner was last told.
    std::function<void(const State&, const Owner&)> changed;
  };
  // The store may be null.
  Book(runtime::Shard& home, store::Store* store, Hooks hooks);
  ~Book();
  Book(const Book&) = delete;
  Book& operator=(const Book&) = delete;

  runtime::Shard& home() const { return home_; }
  Task<void> restore();  // once, at start-up: what an earlier daemon left

  // Errors: task.limit, task.not_kept (then the server's task is cancelled); upstream.stopped.
  Task<Told> adopt(Made made);
  // A call that was answered at once, for a client that asked for a task.
  Task<Told> adopt_done(Made made, std::string result, mcp::Revision from);
  // Waits for what the task comes to, on behalf of a caller that is not to know of it.
  Task<call::Outcome> see_through(Made made, std::shared_ptr<Wait> wait);

  // A call of a client that takes a task for an answer. It outlives the wait, not the call.
  struct Slow {
    explicit Slow(const call::Call& call_in) : call(call_in) {}
    const call::Call& call;
    std::string server;
    Owner owner;
    bool own_uris = false;
    Milliseconds after{0};
    std::shared_ptr<Wait> wait;
  };
  struct Raced {
    std::optional<call::Outcome> outcome;  // it was answered in time
    std::optional<State> task;             // or became one
    bool full = false;                     // or was not made, as it cannot become one
  };
  Task<Raced> call_or_task(const Slow& slow);

  // Of requests. Errors: task.unknown; those of the server.
  Task<Told> get(std::string id, Owner owner);
  Task<Told> peek(std::string id, Owner owner);  // as far as it is known: nobody is asked
  Task<Told> update(std::string id, Owner owner, std::string responses);
  Task<Told> cancel(std::string id, Owner owner);
  Task<Told> result(std::string id, Owner owner, std::shared_ptr<Wait> wait);
  bool knows(const std::string& id, const Owner& owner) const { return find(id, owner) != nullptr; }
  struct Page {
    std::vector<State> tasks;
    std::string next;  // cursor; empty: there are no more
  };
  std::optional<Page> list(const Owner& owner, const std::string& cursor) const;
  void give_up(Wait& wait);
  // The session of a legacy client is over, and with it the tasks that only it could ask for.
  void end_session(std::string_view session_id);

  std::size_t size() const { return jobs_.size(); }
  void shut_down();  // no caller waits for a task any more
  Task<void> join();

 private:
  class Asker;
  struct Running;

  // --- drive.cpp
  void drive(const JobPtr& job);
  Task<void> drive_modern(JobPtr job);
  Task<void> drive_legacy(JobPtr job);
  Task<void> poll(JobPtr job);
  Task<void> take_report(JobPtr job, const call::Outcome& outcome);
  Task<void> settle_legacy(JobPtr job, call::Outcome outcome);
  Task<void> rest(JobPtr job, std::size_t polls);
  Task<call::Outcome> ask_server(JobPtr job, mcp::Method method, std::string params,
                                 TimePoint deadline);
  Task<void> cancel_at_server(JobPtr job);

  // --- keeping.cpp
  store::TaskRow row_of(const Job& job, const State& state, bool tool_failed) const;
  Task<bool> keep(JobPtr job);
  Task<bool> keep_end(const Job& job, const State& ended);
  Task<void> finish(JobPtr job, Status status, std::string outcome, mcp::Revision from,
                    std::string message);
  Task<void> fail(JobPtr job, Error error);
  Task<Told> told(JobPtr job);
  void restore_one(const store::TaskRow& row);
  void remove(const JobPtr& job);
  void sweep();
  void ring_by(std::int64_t expires);

  // --- asker.cpp
  std::shared_ptr<call::Asker> asker_of(const JobPtr& job);
  void hear_nothing(Job& job);  // what it asks is answered at once: there is nobody to ask

  // --- waiting.cpp
  Task<void> wait_for(JobPtr job, std::shared_ptr<Wait> wait);
  void ask_what_waits(const JobPtr& job, const std::shared_ptr<Wait>& wait,
                      runtime::TaskGroup& asking);
  Task<void> ask_client(JobPtr job, std::shared_ptr<Wait> wait, Question question);
  Task<bool> answer(JobPtr job, std::string key, call::Response response);

  // --- own.cpp
  std::shared_ptr<Running> copy_of(const Slow& slow, const JobPtr& job);
  Task<Raced> race(const Slow& slow, JobPtr job, std::shared_ptr<Running> running);
  Task<void> run(JobPtr job, std::shared_ptr<Running> running);
  Task<bool> become_task(JobPtr job);

  JobPtr make(Kind kind, std::string server, Owner owner, Origin origin);
  JobPtr make(const Made& made);
  JobPtr find(const std::string& id, const Owner& owner) const;
  // Whether its owner may have one more, which the second counts, until remove() or keep() fails.
  bool has_room(const Owner& owner) const;
  bool take_place(Job& job);
  void count(Job& job);
  void free_place(Job& job);
  void publish(Job& job);

  runtime::Shard& home_;
  store::Store* store_;
  const Hooks hooks_;
  bool closing_ = false;
  std::map<std::string, JobPtr, std::less<>> jobs_;  // those that are kept, by id
  std::vector<std::weak_ptr<Job>> all_;              // and those that nobody is to know of
  std::size_t tidy_at_ = 64;                         // as many of them
  std::map<std::string, std::size_t> owned_;  // by Owner::key(): those of it that are counted
  std::size_t counted_ = 0;                   // of all owners
  runtime::Watchdog alarm_;                   // when the next one expires
  runtime::Watchdog grace_;                   // what is asked of servers is waited for
  runtime::CancelSource over_;                // and no longer
  runtime::TaskGroup tasks_;
};

// Unix milliseconds.
std::int64_t unix_now();

}  // namespace mcpx::tasks
