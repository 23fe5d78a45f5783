#include "runtime/readiness.hpp"

#include <sys/epoll.h>

#include <cerrno>

#include "runtime/loop.hpp"

namespace mcpx::runtime {

// Edge-triggered, both directions at once: one system call for the life of a connection. The end
// of the peer's side is asked for by name, since a short read hides one that came with the data.
int Readiness::watch(int descriptor) {
  epoll_event interest{};
  interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  interest.data.ptr = this;
  if (::epoll_ctl(loop_.epoll_, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
    if (errno != EPERM) return errno;
    input_.last = output_.last = true;
    return 0;
  }
  descriptor_ = descriptor;
  loop_.watched_.insert(this);
  return 0;
}

void Readiness::release() {
  if (descriptor_ < 0) return;
  epoll_event ignored{};
  ::epoll_ctl(loop_.epoll_, EPOLL_CTL_DEL, std::exchange(descriptor_, -1), &ignored);
  loop_.watched_.erase(this);
}

void Readiness::happened(std::uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) input_.last = output_.last = true;
  if ((events & EPOLLRDHUP) != 0) input_.last = true;
  if ((events & EPOLLIN) != 0 || input_.last) wake(input_);
  if ((events & EPOLLOUT) != 0 || output_.last) wake(output_);
}

void Readiness::wake(Direction& direction) {
  direction.ready = true;
  if (direction.sleeper) loop_.ready(std::exchange(direction.sleeper, Suspended()));
}

void Readiness::interrupt() {
  for (Direction* direction : {&input_, &output_}) {
    if (direction->sleeper) loop_.ready(std::exchange(direction->sleeper, Suspended()));
  }
}

}  // namespace mcpx::runtime
