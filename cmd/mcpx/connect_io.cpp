#include "connect_io.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

namespace mcpx::cli {
namespace {

constexpr std::size_t kChunk = 64u << 10;

// Where the signal handler writes; one bridge per process.
std::atomic<int> signal_pipe{-1};

void on_signal(int /*number*/) {
  const int saved = errno;
  const int descriptor = signal_pipe.load();
  if (descriptor >= 0 && ::write(descriptor, "s", 1) < 0) {
    // Nothing can be done in here; a second signal ends the process by default.
  }
  errno = saved;
}

void handle_signals() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace

StdinReader::StdinReader(runtime::Shard& shard, int descriptor, std::function<void()> interrupted)
    : shard_(shard), descriptor_(descriptor), interrupted_(std::move(interrupted)), chunks_(2) {
  if (::pipe2(wake_, O_CLOEXEC | O_NONBLOCK) == 0) {
    signal_pipe = wake_[1];
    handle_signals();
  }
  thread_ = std::thread([this] { run(); });
}

StdinReader::~StdinReader() {
  stop();
  thread_.join();
  signal_pipe = -1;
  for (const int end : wake_) {
    if (end >= 0) ::close(end);
  }
}

void StdinReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  room_.notify_all();
  if (wake_[1] >= 0 && ::write(wake_[1], "q", 1) < 0) return;  // full: it is awake already
}

bool StdinReader::wait_for_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return !chunk_under_way_ || stopped_; });
  chunk_under_way_ = !stopped_;
  return !stopped_;
}

void StdinReader::run() {
  std::string chunk;
  bool interrupted = false;
  while (true) {
    std::array<pollfd, 2> waiting = {{{descriptor_, POLLIN, 0}, {wake_[0], POLLIN, 0}}};
    const int ready = ::poll(waiting.data(), waiting.size(), -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) break;
    if (waiting[1].revents != 0) {
      char why = 'q';
      if (::read(wake_[0], &why, 1) == 1 && why == 's') interrupted = true;
      break;
    }
    chunk.resize(kChunk);
    const ssize_t got = ::read(descriptor_, chunk.data(), chunk.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    chunk.resize(static_cast<std::size_t>(got));
    if (!wait_for_room()) break;
    auto bytes = std::make_shared<std::string>(std::move(chunk));
    shard_.post([this, bytes] { chunks_.push(std::move(*bytes)); });
  }
  shard_.post([this, interrupted] {
    if (interrupted) interrupted_();
    chunks_.close();
  });
}

Task<std::optional<std::string>> StdinReader::next() {
  std::optional<std::string> chunk = co_await chunks_.pop();
  {
    const std::lock_guard lock(mutex_);
    chunk_under_way_ = false;
  }
  room_.notify_all();
  co_return chunk;
}

void StdoutWriter::write_line(std::string_view line) {
  if (broken_) return;
  std::string text(line);
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN) {  // somebody else made it non-blocking
      pollfd waiting = {descriptor_, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
      continue;
    }
    broken_ = true;
    if (gone_) gone_();
    return;
  }
}

}  // namespace mcpx::cli
