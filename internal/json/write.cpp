#include "json/json.hpp"
#include "json/utf8.hpp"

namespace mcpx::json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      constexpr char kHex[] = "0123456789abcdef";
      out += "\\u00";
      out += kHex[(c >> 4) & 0xF];
      out += kHex[c & 0xF];
  }
}

}  // namespace

void append_string(std::string& out, std::string_view utf8) {
  out.push_back('"');
  const char* at = utf8.data();
  const char* const end = at + utf8.size();
  while (at < end) {
    const char* run = at;
    while (at < end && is_plain(*at))
      ++at;
    out.append(run, at);
    if (at == end) break;
    if (static_cast<unsigned char>(*at) < 0x80) {
      append_escape(out, *at++);
      continue;
    }
    // Text may come from anywhere (stderr of a child): what is written stays valid JSON.
    const std::size_t length = utf8_length(at, end);
    if (length == 0) {
      out += kReplacement;
      ++at;
    } else {
      out.append(at, length);
      at += length;
    }
  }
  out.push_back('"');
}

std::string quoted(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size() + 2);
  append_string(out, utf8);
  return out;
}

void ObjectBuilder::key(std::string_view key) {
  if (out_.size() > 1) out_.push_back(',');
  append_string(out_, key);
  out_.push_back(':');
}

ObjectBuilder& ObjectBuilder::raw(std::string_view name, Raw value) {
  if (value.empty()) return *this;
  key(name);
  out_ += value;
  return *this;
}

ObjectBuilder& ObjectBuilder::string(std::string_view name, std::string_view value) {
  key(name);
  append_string(out_, value);
  return *this;
}

ObjectBuilder& ObjectBuilder::integer(std::string_view name, std::int64_t value) {
  key(name);
  out_ += std::to_string(value);
  return *this;
}

ObjectBuilder& ObjectBuilder::boolean(std::string_view name, bool value) {
  key(name);
  out_ += value ? "true" : "false";
  return *this;
}

std::string ObjectBuilder::take() {
  out_.push_back('}');
  std::string out = std::move(out_);
  out_ = "{";
  return out;
}

}  // namespace mcpx::json
