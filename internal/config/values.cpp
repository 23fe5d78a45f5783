#include "config/values.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <utility>

namespace mcpx::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kSizes = {
    {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"B", 1}}};
constexpr std::array<Unit, 4> kTimes = {{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::uint64_t kWeek = 7ull * 24 * 3'600'000;

// Number and unit: "16MiB" -> {16, "MiB"}; one space between them is fine.
std::optional<std::pair<std::uint64_t, std::string_view>> split(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  return std::pair(number, unit);
}

template <std::size_t N>
std::optional<std::uint64_t> scaled(std::uint64_t number, std::string_view unit,
                                    const std::array<Unit, N>& units) {
  for (const Unit& known : units) {
    if (unit != known.name) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() / known.factor) return std::nullopt;
    return number * known.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string with_unit(std::uint64_t value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (value >= unit.factor && value % unit.factor == 0) {
      return fmt::format("{}{}", value / unit.factor, unit.name);
    }
  }
  return "0";
}

}  // namespace

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  const auto parts = split(text);
  if (!parts || !parts->second.empty()) return std::nullopt;
  return parts->first;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->second.empty()) return parts->first;
  return scaled(parts->first, parts->second, kSizes);
}

std::optional<Milliseconds> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->second.empty() && parts->first == 0) return Milliseconds{0};
  const auto value = scaled(parts->first, parts->second, kTimes);
  if (!value || *value > kWeek) return std::nullopt;
  return Milliseconds{static_cast<std::int64_t>(*value)};
}

std::optional<Address> parse_address(std::string_view text) {
  Address out;
  out.host = "127.0.0.1";
  std::string_view port = text;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find("]:");
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    out.host = std::string(text.substr(1, end - 1));
    port = text.substr(end + 2);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    out.host = std::string(text.substr(0, colon));
    port = text.substr(colon + 1);
    if (out.host.empty() || port.find(':') != std::string_view::npos) return std::nullopt;
  }
  if (out.host.find_first_of("/@ []?#%") != std::string::npos) return std::nullopt;
  const auto number = parse_integer(port);
  if (!number || *number > 65'535) return std::nullopt;
  out.port = static_cast<std::uint16_t>(*number);
  return out;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.substr(0, 4) == "127.";
}

std::string format_size(std::uint64_t bytes) {
  return with_unit(bytes, kSizes);
}

std::string format_duration(Milliseconds time) {
  return with_unit(static_cast<std::uint64_t>(time.count()), kTimes);
}

}  // namespace mcpx::config
