#include <cstring>

#include "json/json.hpp"
#include "json/scan.hpp"

namespace mcpx::json {
namespace {

Raw span(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

// Steps over a comma. On anything but a comma there is nothing more to read.
const char* next_item(const char* at, const char* end) {
  at = skip_white(at, end);
  return at < end && *at == ',' ? at + 1 : end;
}

}  // namespace

Kind kind_of(Raw value) {
  if (value.empty()) return Kind::null;
  switch (value.front()) {
    case '{':
      return Kind::object;
    case '[':
      return Kind::array;
    case '"':
      return Kind::string;
    case 't':
    case 'f':
      return Kind::boolean;
    case 'n':
      return Kind::null;
    default:
      return Kind::number;
  }
}

bool Member::key_is(std::string_view text) const {
  if (key.size() < 2) return false;
  const std::string_view inner = key.substr(1, key.size() - 2);
  if (inner == text) return inner.find('\\') == std::string_view::npos;
  // An escape is never shorter than what it stands for.
  if (inner.size() < text.size() || inner.find('\\') == std::string_view::npos) return false;
  const auto decoded = decode_string(key);
  return decoded && *decoded == text;
}

Members::Members(Raw object) : at_(object.data()), end_(at_ + object.size()) {
  at_ = skip_white(at_, end_);
  at_ = at_ < end_ && *at_ == '{' ? at_ + 1 : end_;
}

std::optional<Member> Members::next() {
  const char* key = skip_white(at_, end_);
  at_ = end_;
  if (key == end_ || *key != '"') return std::nullopt;  // the closing brace
  const char* key_end = skip_string(key + 1, end_);
  const char* colon = skip_white(key_end, end_);
  if (colon == end_ || *colon != ':') return std::nullopt;
  const char* value = skip_white(colon + 1, end_);
  const char* value_end = skip_value(value, end_);
  if (value_end == value) return std::nullopt;
  at_ = next_item(value_end, end_);
  return Member{span(key, key_end), span(value, value_end)};
}

Elements::Elements(Raw array) : at_(array.data()), end_(at_ + array.size()) {
  at_ = skip_white(at_, end_);
  at_ = at_ < end_ && *at_ == '[' ? at_ + 1 : end_;
}

std::optional<Raw> Elements::next() {
  const char* value = skip_white(at_, end_);
  const char* value_end = skip_value(value, end_);
  at_ = end_;
  if (value_end == value) return std::nullopt;  // the closing bracket
  at_ = next_item(value_end, end_);
  return span(value, value_end);
}

std::optional<Raw> find(Raw object, std::string_view key) {
  Members members(object);
  while (const auto member = members.next()) {
    if (member->key_is(key)) return member->value;
  }
  return std::nullopt;
}

std::optional<Raw> find_path(Raw object, std::initializer_list<std::string_view> keys) {
  std::optional<Raw> at = object;
  for (const std::string_view key : keys) {
    at = find(*at, key);
    if (!at) return std::nullopt;
  }
  return at;
}

std::optional<std::string> find_string(Raw object, std::string_view key) {
  const auto value = find(object, key);
  return value ? decode_string(*value) : std::nullopt;
}

std::optional<bool> as_bool(Raw value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return std::nullopt;
}

bool may_mention(Raw text, std::string_view key) {
  // A key follows a quote, unless it is spelled with escapes.
  if (std::memchr(text.data(), '\\', text.size()) != nullptr && text.find("\\u") != Raw::npos) {
    return true;
  }
  return find_quoted(text.data(), text.data() + text.size(), key) != nullptr;
}

}  // namespace mcpx::json
