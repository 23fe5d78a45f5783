// Job: one task, with whom it is for and what it takes to go on with it. Internal to the room.
// Thread: the book's home shard; Owner, Origin and Wait are values until they are there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "call/call.hpp"
#include "runtime/cancel.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/timer.hpp"
#include "runtime/waiter.hpp"
#include "tasks/state.hpp"

namespace mcpx::tasks {

// Who works on it: a server that calls it a task too, in the vocabulary of its era, or mcpx, which
// waits for a plain call.
enum class Kind : std::uint8_t { modern, legacy, own };
std::string_view text(Kind kind);

// Whose a task is; nobody else is told that there is one.
struct Owner {
  std::string principal;   // empty: the local user
  std::string endpoint;    // "" is /mcp
  std::string session;     // of a legacy client: a digest of its session's id; empty: a modern one
  std::string session_id;  // that id, as long as it is known

  bool legacy() const { return !session.empty(); }
  // A principal's sessions share their tasks; where nobody says who they are, each has its own. A
  // modern client without a principal is known by the id alone.
  bool owns(const Owner& task) const {
    if (principal != task.principal || endpoint != task.endpoint || legacy() != task.legacy()) {
      return false;
    }
    return !legacy() || !principal.empty() || session == task.session;
  }
  // The same for those who own each other's.
  std::string key() const;
};

// On whose behalf the server is asked for the task, long after the call.
struct Origin {
  Origin() = default;
  explicit Origin(const call::Caller& caller);
  void describe(call::Caller& caller) const;  // which is not to outlive this
  std::string text() const;                   // what is kept of it: a raw object
  static Origin read(json::Raw text);

  mcp::Revision revision = mcp::kLatestModern;
  mcp::Askable askable = 0;
  bool passes_through = false;
  bool own_uris = false;
  std::string session, principal, client_info, capabilities, extensions;
};

// Somebody who waits for what a task comes to, and may be asked meanwhile.
struct Wait {
  std::shared_ptr<call::Asker> asker;  // null: nobody is asked
  mcp::Askable askable = 0;
  runtime::Shard* shard = nullptr;  // where the asker lives
  // --- the book's shard
  bool given_up = false;
  bool interrupted = false;  // mcpx is stopping
  runtime::Waiter waiter;
  runtime::CancelSource over;
};

// A question that waits in the frame of whoever asks it.
struct Open {
  Open(std::string key_in, const call::Question& question_in)
      : key(std::move(key_in)), question(question_in) {}
  std::string key;
  const call::Question& question;
  runtime::OneShot<call::Response> answer;
};

struct Job {
  Job(runtime::Shard& home, Kind kind_in, Owner owner_in, Origin origin_in)
      : kind(kind_in), owner(std::move(owner_in)), origin(std::move(origin_in)), pause(home) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool over() const { return gone || is_over(state.status); }
  void wake() const {
    for (runtime::Waiter* waiter : watchers)
      waiter->wake();
  }
  std::int64_t expires() const { return state.created + state.ttl; }

  const Kind kind;
  const Owner owner;
  const Origin origin;
  State state;
  std::string upstream_id;
  bool kept = false;                   // it is in the store, and found by its id
  bool outcome_in_store = false;       // and nowhere else
  bool tool_failed = false;            // it completed with isError
  bool counted = false;                // as one of its owner's
  bool unheard = false;                // what it asks reaches nobody
  bool restored = false;               // an earlier daemon's
  bool ending = false;                 // how it ended is on its way to the store
  bool gone = false;                   // nobody can have it any more
  std::uint64_t asked = 0, heard = 0;  // polls, so that a late answer does not undo a newer one
  std::size_t questions = 0;           // so far
  runtime::CancelSource cancel;        // of a call that takes as long as the task
  runtime::Timer pause;                // between two polls
  std::vector<Open*> open;
  std::set<std::string> being_asked;  // keys of questions that a client has at the moment
  std::vector<runtime::Waiter*> watchers;
};
using JobPtr = std::shared_ptr<Job>;

// Has a waiter woken by every change of the job.
class Watch {
 public:
  Watch(Job& job, runtime::Waiter& waiter) : job_(job), waiter_(waiter) {
    job_.watchers.push_back(&waiter);
  }
  ~Watch() { std::erase(job_.watchers, &waiter_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Job& job_;
  runtime::Waiter& waiter_;
};

Error stopped();          // what is told of a task when mcpx stops
std::string random_id();  // 128 bits from the kernel, in hexadecimal

}  // namespace mcpx::tasks
