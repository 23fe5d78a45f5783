// What every fuzz target uses: FUZZ_CHECK ends the run with the expression that does not hold, and
// Bytes hands out the input piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"

#define FUZZ_CHECK(expression) MCPX_CHECK(expression)

namespace mcpx::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::size_t number() {  // 0 to 255; 0 at the end
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::string_view take(std::size_t count) {
    const std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(out.size());
    return out;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace mcpx::fuzz
