// Sizes, durations and addresses as people write them. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace mcpx::config {

std::optional<std::uint64_t> parse_integer(std::string_view text);  // digits only
// "512", "64KiB", "16 MiB", "1GiB"; "B" allowed.
std::optional<std::uint64_t> parse_size(std::string_view text);
// "500ms", "5s", "2m", "1h"; "0" alone. At most a week.
std::optional<Milliseconds> parse_duration(std::string_view text);

struct Address {
  std::string host;  // without the brackets of IPv6
  std::uint16_t port = 0;
};
// "127.0.0.1:7332", "[::1]:7332", "7332" (loopback).
std::optional<Address> parse_address(std::string_view text);
bool is_loopback(std::string_view host);

std::string format_size(std::uint64_t bytes);
std::string format_duration(Milliseconds time);

}  // namespace mcpx::config
