// Standard input and output of the bridge.
//
// A thread of its own does blocking reads: standard input may be a file (which epoll refuses) or
// share its description with other programs (where O_NONBLOCK would leak to them). One chunk at a
// time is under way, so the client feels back-pressure. Thread: as noted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "connect_bridge.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/shard.hpp"

namespace mcpx::cli {

class StdinReader {
 public:
  // `interrupted` runs on the shard when SIGTERM or SIGINT came.
  StdinReader(runtime::Shard& shard, int descriptor, std::function<void()> interrupted);
  ~StdinReader();
  StdinReader(const StdinReader&) = delete;
  StdinReader& operator=(const StdinReader&) = delete;

  // The next bytes; nullopt at the end of the input, on a signal or after stop(). Thread: home.
  Task<std::optional<std::string>> next();
  void stop();  // any thread

 private:
  void run();
  bool wait_for_room();

  runtime::Shard& shard_;
  int descriptor_;
  int wake_[2] = {-1, -1};
  std::function<void()> interrupted_;
  runtime::Mailbox<std::string> chunks_;
  std::mutex mutex_;
  std::condition_variable room_;
  bool chunk_under_way_ = false, stopped_ = false;
  std::thread thread_;
};

// Whole lines, one write each. Blocks while the reader is slow: the bridge has one client, and
// nothing to do while that does not read.
class StdoutWriter final : public LineOutput {
 public:
  StdoutWriter(int descriptor, std::function<void()> gone)
      : descriptor_(descriptor), gone_(std::move(gone)) {}
  void write_line(std::string_view line) override;

 private:
  int descriptor_;
  std::function<void()> gone_;  // the reader went away; called once
  bool broken_ = false;
};

}  // namespace mcpx::cli
