#include "upstream/backoff.hpp"

#include <algorithm>
#include <random>

namespace mcpx::upstream {

Milliseconds backoff_after(std::size_t failures) {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return backoff_after(failures, engine());
}

Milliseconds backoff_after(std::size_t failures, std::uint64_t random) {
  const std::size_t doublings = std::min<std::size_t>(failures > 0 ? failures - 1 : 0, 16);
  const auto whole =
      std::min<std::int64_t>(kFirstBackoff.count() << doublings, kLongestBackoff.count());
  const auto jitter = static_cast<std::int64_t>(random % 1024) * whole / (5 * 1024);
  return Milliseconds(whole - jitter);
}

}  // namespace mcpx::upstream
