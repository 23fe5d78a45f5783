#include "registry/cursor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.hpp"

namespace mcpx::registry {
namespace {

// If this many in a row are gone, the server's entries are sent again from the first: twice is
// better than never.
constexpr std::size_t kAnchors = 8;
constexpr std::size_t kCheckDigits = 16;
constexpr std::size_t kLongest = 4096;
constexpr char kVersion = 1;

// FNV-1a: tells entries of one server apart; nobody gains by making two alike.
std::uint64_t anchor_of(std::string_view original) {
  std::uint64_t hash = 14'695'981'039'346'656'037u;
  for (const char c : original) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1'099'511'628'211u;
  }
  return hash;
}

template <class Number>
void append_number(std::string& out, Number number) {
  for (std::size_t i = sizeof number; i-- > 0;)
    out += static_cast<char>(number >> (8 * i) & 0xFFu);
}

template <class Number>
std::optional<Number> take_number(std::string_view& from) {
  if (from.size() < sizeof(Number)) return std::nullopt;
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number = static_cast<Number>(number << 8u | static_cast<unsigned char>(from[i]));
  from.remove_prefix(sizeof number);
  return number;
}

std::string check_of(std::string_view endpoint, mcp::ListKind kind, std::string_view payload) {
  const std::string text =
      fmt::format("mcpx cursor\n{}\n{}\n{}", endpoint, mcp::info(kind).member, payload);
  return sha256_hex(text).substr(0, kCheckDigits);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::optional<std::string> unhex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
  }
  return out;
}

}  // namespace

std::string write_cursor(std::string_view endpoint, mcp::ListKind kind, const Position& position) {
  std::string payload(1, kVersion);
  append_number(payload, position.place);
  const std::size_t count = std::min(position.anchors.size(), kAnchors);
  payload += static_cast<char>(count);
  for (std::size_t i = 0; i < count; ++i)
    append_number(payload, position.anchors[i]);
  payload += position.server;
  return check_of(endpoint, kind, payload) + hex(payload);
}

std::optional<Position> read_cursor(std::string_view endpoint, mcp::ListKind kind,
                                    std::string_view cursor) {
  if (cursor.size() < kCheckDigits || cursor.size() > kLongest) return std::nullopt;
  const auto payload = unhex(cursor.substr(kCheckDigits));
  if (!payload || cursor.substr(0, kCheckDigits) != check_of(endpoint, kind, *payload)) {
    return std::nullopt;
  }
  std::string_view rest = *payload;
  const auto version = take_number<std::uint8_t>(rest);
  const auto place = take_number<std::uint32_t>(rest);
  const auto count = take_number<std::uint8_t>(rest);
  if (version != kVersion || !place || !count) return std::nullopt;
  Position position;
  position.place = *place;
  for (unsigned i = 0; i < *count; ++i) {
    const auto anchor = take_number<std::uint64_t>(rest);
    if (!anchor) return std::nullopt;
    position.anchors.push_back(*anchor);
  }
  position.server = rest;
  return position;
}

Position position_behind(const ListView& list, std::size_t count) {
  const Source* source = list.entries[count - 1]->source;
  Position position{source->name, static_cast<std::uint32_t>(source->place), {}};
  for (std::size_t i = count; i-- > 0 && position.anchors.size() < kAnchors;) {
    if (list.entries[i]->source != source) break;
    position.anchors.push_back(anchor_of(list.entries[i]->original));
  }
  return position;
}

std::size_t entries_before(const ListView& list, const Position& position) {
  const auto& entries = list.entries;
  const auto from = std::find_if(entries.begin(), entries.end(), [&](const Entry* entry) {
    return entry->source->name == position.server;
  });
  const auto distance = [&](auto at) { return static_cast<std::size_t>(at - entries.begin()); };
  if (from == entries.end()) {  // gone, so on with those that stand behind it
    return distance(std::find_if(entries.begin(), entries.end(), [&](const Entry* entry) {
      return entry->source->place > position.place;
    }));
  }
  const auto to = std::find_if(
      from, entries.end(), [&](const Entry* entry) { return entry->source != (*from)->source; });
  for (const std::uint64_t anchor : position.anchors) {
    const auto found = std::find_if(
        from, to, [&](const Entry* entry) { return anchor_of(entry->original) == anchor; });
    if (found != to) return distance(found) + 1;
  }
  return distance(from);
}

}  // namespace mcpx::registry
