#include "downstream/asked.hpp"

#include <fmt/core.h>

#include <charconv>

namespace mcpx::downstream {
namespace {

// Takes a number and the separator before it off the front; nullopt: there is none.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  if (text.empty() || text.front() != '-') return std::nullopt;
  text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string question_id(std::string_view daemon, QuestionId id) {
  return fmt::format("\"mcpx-{}-{}-{}\"", daemon, id.shard, id.number);
}

std::optional<QuestionId> parse_question_id(std::string_view daemon, json::Raw token) {
  const auto decoded = json::decode_string(token);
  if (!decoded) return std::nullopt;
  std::string_view text = *decoded;
  const std::string prefix = fmt::format("mcpx-{}", daemon);
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  const auto shard = take_number(text);
  const auto number = shard ? take_number(text) : std::nullopt;
  if (!number || !text.empty()) return std::nullopt;
  QuestionId id;
  id.shard = static_cast<std::size_t>(*shard);
  id.number = *number;
  return id;
}

}  // namespace mcpx::downstream
