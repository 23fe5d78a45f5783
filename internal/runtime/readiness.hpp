// Readiness: tells when a descriptor can be read or written without waiting.
//
// It remembers what the kernel said: after a read that found nothing, or less than there was room
// for, the next one is only worth a system call once the kernel has reported something new. Whoever
// reads tells so with input_exhausted(); until then readable() does not wait. The same for output.
//
//   while (input is wanted) {
//     co_await readiness.readable();
//     ... ::read(): all there was, or EAGAIN? readiness.input_exhausted();
//   }
//
// One coroutine per direction. It does not own the descriptor, which must stay open until
// release() or the destructor, and be non-blocking. Regular files, which epoll does not take, are
// always ready. Thread: home shard only.
#pragma once

#include <cstdint>
#include <utility>

#include "base/check.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::runtime {

class Readiness {
 private:
  struct Direction {
    bool ready = true;  // nothing is known yet: the first attempt tells
    bool last = false;  // the peer has ended it or it broke: it stays ready
    Suspended sleeper;
  };

 public:
  explicit Readiness(Shard& shard) : loop_(shard.loop()) {}
  ~Readiness() { release(); }
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  int watch(int descriptor);  // 0 or an errno
  void release();

  class Sleep {
   public:
    explicit Sleep(Direction& direction) : direction_(direction) {}
    bool await_ready() const noexcept { return direction_.ready; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> caller) const {
      MCPX_CHECK(!direction_.sleeper);
      direction_.sleeper = Suspended(caller.promise());
    }
    void await_resume() const noexcept {}

   private:
    Direction& direction_;
  };
  Sleep readable() { return Sleep(input_); }
  Sleep writable() { return Sleep(output_); }

  bool may_read() const { return input_.ready; }
  void input_exhausted() { input_.ready = input_.last; }
  void output_exhausted() { output_.ready = output_.last; }

  // Wakes whoever waits, though nothing happened: to look at what else it waits for.
  void interrupt();

 private:
  friend class Loop;
  void happened(std::uint32_t events);
  void wake(Direction& direction);

  Loop& loop_;
  int descriptor_ = -1;
  Direction input_;
  Direction output_;
};

}  // namespace mcpx::runtime
