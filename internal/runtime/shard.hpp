// Shard: one Loop and the one thread that runs it. Every stateful object has a home shard.
//
// The daemon makes a few (`threads:` in the configuration) and hands references down; a shard
// outlives everything that lives on it. post() is the only way in from another thread.
// Thread: post() and is_current() any; the rest startup.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

namespace mcpx::runtime {

class Loop;

class Shard {
 public:
  explicit Shard(std::size_t index);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  void start();   // runs the loop on a thread of its own
  void run();     // runs it on the calling thread until finish() and nothing is left
  void finish();  // lets the loop run dry: start() or run() ends when the last work is done
  void join();    // waits for the thread that start() made

  void post(std::function<void()> work);
  bool is_current() const;
  static Shard& current();  // the shard whose thread this is; a bug elsewhere

  std::size_t index() const { return index_; }
  Loop& loop() { return *loop_; }

 private:
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
  std::size_t index_;
};

}  // namespace mcpx::runtime
