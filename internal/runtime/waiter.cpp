#include "runtime/waiter.hpp"

#include "runtime/loop.hpp"
#include "runtime/shard.hpp"

namespace mcpx::runtime {

void Waiter::wake() {
  if (!sleeper_) {
    woken_ = true;
    return;
  }
  Shard::current().loop().ready(std::exchange(sleeper_, Suspended()));
}

}  // namespace mcpx::runtime
