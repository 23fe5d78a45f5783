#include "runtime/hop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <utility>

#include "base/check.hpp"

namespace mcpx::runtime::detail {

void start(Shard& shard, Task<void> task) {
  boost::asio::co_spawn(shard.executor(), std::move(task), [](std::exception_ptr failure) {
    MCPX_CHECK(!failure);  // a Task never throws across a room
  });
}

}  // namespace mcpx::runtime::detail
