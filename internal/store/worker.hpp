// Worker: the store's thread, its queue and its database.
//
// The thread takes what has queued up, does it in one transaction and only then answers, so an
// answer means committed, and a burst costs one commit. Answers are called with the queue's lock
// held, which is how abandon() can promise that none comes any more. Private to the room. Thread:
// any, but join() and abandon() once, by the owner.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "store/guarded.hpp"
#include "store/store.hpp"

namespace mcpx::store {

struct Job {
  bool writes = false;
  bool durable = false;   // survives a power cut once answered
  std::size_t bytes = 0;  // of what it carries
  std::function<Result<void>(Database&)> work;
  std::function<void(const Result<void>&)> done;  // may be empty
};

class Worker {
 public:
  static std::shared_ptr<Worker> start(const std::string& state_dir, std::size_t queue_jobs,
                                       std::size_t queue_bytes);

  // Errors: store.overloaded, store.closed.
  Result<void> submit(Job job);
  Status status() {
    return status_.with([](const Status& now) { return now; });
  }

  // No more jobs; `finished` is called on the thread when the last is done and the file closed.
  void finish(std::function<void()> finished);
  void join();
  // Leaves the thread to itself: nothing is called any more. After finish().
  void abandon();

 private:
  struct Queue {
    std::deque<Job> jobs;
    std::size_t bytes = 0;
    bool finishing = false;
    bool abandoned = false;
    std::function<void()> finished;
  };

  Worker(std::size_t queue_jobs, std::size_t queue_bytes);
  void run(const std::string& state_dir);
  std::vector<Job> next_batch();
  void perform(Database& database, std::vector<Job>& batch);
  Result<void> begin(Database& database, const std::vector<Job>& batch);
  void answer(const std::vector<Job>& batch, const std::vector<Result<void>>& outcomes);
  void note_failure(const Error& error);
  void note_success();

  const std::size_t queue_jobs_, queue_bytes_;
  Guarded<Queue> queue_;
  Guarded<Status> status_;
  std::thread thread_;
  // Of the thread alone:
  std::string notice_;   // what the status says while nothing fails
  std::string failing_;  // the failure it says now
  std::optional<bool> durable_;
};

}  // namespace mcpx::store
