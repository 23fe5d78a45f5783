#include "http1/message.hpp"

namespace mcpx::http1 {
namespace {

// ASCII only: field names are tokens, and a locale has no say in them.
constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a == b) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

void Fields::reserve(std::size_t bytes, std::size_t fields) {
  arena_.reserve(bytes);
  entries_.reserve(fields);
}

void Fields::add(std::string_view name, std::string_view value) {
  entries_.push_back({static_cast<std::uint32_t>(arena_.size()),
                      static_cast<std::uint32_t>(name.size()),
                      static_cast<std::uint32_t>(value.size()), hint_of(name)});
  arena_.append(name).append(value);
}

std::uint32_t Fields::hint_of(std::string_view name) {
  if (name.empty()) return 0;
  const auto byte = [&](char c) { return std::uint32_t{static_cast<unsigned char>(lower(c))}; };
  return (static_cast<std::uint32_t>(name.size()) & 0xFFFF) | byte(name.front()) << 16 |
         byte(name.back()) << 24;
}

bool Fields::is(const Entry& entry, std::string_view name, std::uint32_t hint) const {
  return entry.hint == hint &&
         equals_ignoring_case({arena_.data() + entry.at, entry.name_size}, name);
}

void Fields::clear() {
  arena_.clear();
  entries_.clear();
}

std::optional<std::string_view> Fields::find(std::string_view name) const {
  const std::uint32_t hint = hint_of(name);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (is(entries_[i], name, hint)) return value_at(i);
  }
  return std::nullopt;
}

std::size_t Fields::count(std::string_view name) const {
  const std::uint32_t hint = hint_of(name);
  std::size_t found = 0;
  for (const Entry& entry : entries_) {
    if (is(entry, name, hint)) ++found;
  }
  return found;
}

std::string_view Fields::name_at(std::size_t i) const {
  const Entry& entry = entries_[i];
  return {arena_.data() + entry.at, entry.name_size};
}

std::string_view Fields::value_at(std::size_t i) const {
  const Entry& entry = entries_[i];
  return {arena_.data() + entry.at + entry.name_size, entry.value_size};
}

std::string_view RequestHead::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view RequestHead::query() const {
  const auto mark = target.find('?');
  if (mark == std::string::npos) return {};
  return std::string_view(target).substr(mark + 1);
}

std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

}  // namespace mcpx::http1
