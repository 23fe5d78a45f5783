#include "runtime/waiter.hpp"

#include <boost/asio/post.hpp>

#include "runtime/shard.hpp"

namespace mcpx::runtime {

void Waiter::wake() {
  if (!sleeper_) {
    woken_ = true;
    return;
  }
  boost::asio::post(
      Shard::current().executor(),
      [sleeper = std::exchange(sleeper_, Suspended())]() mutable { sleeper.resume(); });
}

}  // namespace mcpx::runtime
