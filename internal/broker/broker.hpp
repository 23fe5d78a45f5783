// Broker: questions that no connected client can answer: kept until somebody does, by policy or at
// one of the surfaces (/v1, mcpx elicit), or until they expire as `cancel`.
//
//   broker::Broker broker(home, store, config.broker);   // both outlive it
//   co_await broker.load();                              // what an earlier daemon left
//   call::Response r = co_await broker.ask(question, origin, withdrawn);  // from any shard
//   ...
//   broker.shut_down(); co_await broker.join();
//
// A question is in the store before anybody is told of it, and an answer before whoever gave it is
// told that it counts. One answer counts; the second is told who was first. What an answer says is
// kept until the call it was for is over: when the daemon dies before, the same call, made again,
// gets it. Bounded in number and size. Errors: broker.unknown, broker.settled, broker.invalid,
// broker.not_kept. Thread: home shard; ask(), list(), find(), answer(), events() and release() any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/rate.hpp"
#include "broker/event_log.hpp"
#include "call/ask.hpp"
#include "config/config.hpp"
#include "runtime/cancel.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "store/questions.hpp"
#include "store/store.hpp"

namespace mcpx::broker {

// For whom a question is asked.
struct Origin {
  Origin() = default;
  std::string target;     // the tool, prompt or resource that was called, as its server names it
  std::string principal;  // whose call it is
  std::string client;     // the name of the client
  std::string call_key;   // digest of the call; empty: it is not known again
  std::string redrive;    // how the call is made again after a restart; empty: it is not
  // Called on the home shard with each question that waits for somebody: whoever made the call is
  // there to answer, or has it answered. Empty: nobody is.
  std::function<void(const store::QuestionRow& row)> told;
};

struct Answer {
  Answer() = default;
  std::string id;
  std::string action;   // accept, decline, cancel
  std::string content;  // of an accepted form, or the whole result for sampling and roots: raw
  std::string surface;  // "cli", "rest"
  std::string by;       // the name of the token; may be empty
};

struct Asked {
  Asked() = default;
  call::Response response;
  std::string id;  // of the row that has the answer until release(); empty: there is none
};

class Broker {
 public:
  using Row = store::QuestionRow;

  Broker(runtime::Shard& home, store::Store& store, config::Broker config);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // Questions of an earlier daemon: those whose call is made again wait on, the others are closed.
  // Answers with what to make again, each once.
  Task<std::vector<Row>> load();
  void configure(config::Broker config);  // home shard
  // How many questions of one server a minute are looked at; 0: all. Home shard.
  void limit(std::size_t per_minute) { per_minute_ = per_minute; }

  Task<Asked> ask(const call::Question& question, const Origin& origin,
                  runtime::CancelSource& withdrawn);
  // The calls that these were asked for are over. Any thread.
  void release(std::vector<std::string> ids);

  // Of one state, or (empty) all that are known. Errors: those of the store.
  Task<Result<std::vector<Row>>> list(std::string state);
  Task<Result<std::optional<Row>>> find(std::string id);
  // The row as it is then.
  Task<Result<Row>> answer(Answer answer);
  Task<Batch> events(std::string last, Milliseconds patience);
  void wake_readers();  // any thread

  runtime::Shard& home() const { return home_; }
  std::size_t pending() const { return pending_.size(); }                      // home shard
  bool waits(const std::string& id) const { return pending_.count(id) != 0; }  // home shard
  void shut_down();   // nobody waits any longer; what is pending stays in the store. Home shard
  Task<void> join();  // home shard

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  Task<Asked> ask_home(const call::Question& question, const Origin& origin,
                       runtime::CancelSource& withdrawn);
  std::optional<Asked> known_answer(const std::string& key);
  bool asks_too_often(const std::string& server);
  EntryPtr waiting_for_nobody(const std::string& key) const;
  Task<Result<EntryPtr>> keep(const call::Question& question, const Origin& origin,
                              std::string key);
  Task<Asked> wait(EntryPtr entry, runtime::CancelSource& withdrawn);
  Task<Result<Row>> answer_home(Answer answer);
  std::optional<Error> refusal(const Row& row, const Answer& answer, call::Response& response);
  Task<Error> settled_error(std::string id);
  void end(const EntryPtr& entry, std::string_view state, std::string_view why);
  Task<std::vector<Row>> pending_rows();
  Task<std::optional<Row>> pending_row(std::string id);
  void save(Row row, std::string event);  // which is told then; empty: none
  Task<void> save_task(Row row, std::string event);
  void told(std::string_view type, const Row& row);
  void sweep();
  void forget_used(const std::string& id);

  runtime::Shard& home_;
  store::Store& store_;
  config::Broker config_;
  EventLog events_;
  std::unordered_map<std::string, EntryPtr> pending_;  // by id
  std::unordered_map<std::string, Row> answers_;       // that no call has yet, by id
  std::size_t saving_ = 0;                             // questions on their way to the store
  std::size_t per_minute_ = 0;
  std::unordered_map<std::string, Rate> rates_;  // by server
  bool closing_ = false;
  runtime::Watchdog alarm_;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::broker
