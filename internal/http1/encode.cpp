#include "http1/encode.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "http1/message.hpp"

namespace mcpx::http1 {
namespace {

void append_number(std::string& out, std::uint64_t number, int base = 10) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

// Whether a byte is below 0x20, eight at a time: hardly ever, and every header line is asked.
bool holds_control(std::string_view text) {
  constexpr std::uint64_t kSpaces = 0x2020202020202020;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  std::uint64_t found = 0;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    found |= (word - kSpaces) & ~word & kHigh;  // exact for the lowest such byte, so for "any"
  }
  for (; at < text.size(); ++at)
    found |= static_cast<unsigned char>(text[at]) < 0x20 ? 1U : 0U;
  return found != 0;
}

// Text that came from elsewhere (a configured header, a tool's name) must not end its line and
// begin a header of its own: line ends and NUL become spaces, whoever should have refused them.
void append_text(std::string& out, std::string_view text) {
  const std::size_t from = out.size();
  out.append(text);
  if (!holds_control(text)) return;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
      [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  append_text(out, name);
  out.append(": ");
  append_text(out, value);
  out.append("\r\n");
}

// A space or a control character inside the target would end it early.
void append_target(std::string& out, std::string_view target) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    }
  }
}

void append_status(std::string& out, unsigned status, std::string_view content_type) {
  out.append("HTTP/1.1 ");
  append_number(out, status);
  out += ' ';
  out.append(reason_phrase(status)).append("\r\n");
  if (!content_type.empty()) append_field(out, "Content-Type", content_type);
}

}  // namespace

void append_response_head(std::string& out, unsigned status, std::string_view content_type,
                          std::size_t content_length, std::span<const Field> extra,
                          bool keep_alive) {
  append_status(out, status, content_type);
  // RFC 9110 section 8.6: no Content-Length in 1xx and 204.
  if (status >= 200 && status != 204) {
    out.append("Content-Length: ");
    append_number(out, content_length);
    out.append("\r\n");
  }
  for (const auto& [name, value] : extra)
    append_field(out, name, value);
  if (!keep_alive) out.append("Connection: close\r\n");
  out.append("\r\n");
}

void append_chunked_response_head(std::string& out, unsigned status, std::string_view content_type,
                                  std::span<const Field> extra) {
  append_status(out, status, content_type);
  out.append("Transfer-Encoding: chunked\r\n");
  for (const auto& [name, value] : extra)
    append_field(out, name, value);
  out.append("\r\n");
}

void append_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;  // a chunk of size 0 would end the body
  append_number(out, data.size(), 16);
  out.append("\r\n").append(data).append("\r\n");
}

void append_request_head(std::string& out, std::string_view method, std::string_view target,
                         std::string_view host, std::span<const Field> fields,
                         std::size_t content_length) {
  append_text(out, method);
  out += ' ';
  append_target(out, target.empty() ? std::string_view("/") : target);
  out.append(" HTTP/1.1\r\n");
  append_field(out, "Host", host);
  for (const auto& [name, value] : fields)
    append_field(out, name, value);
  // A POST says its length even when it is 0; methods without a body by nature do not.
  const bool bodiless =
      method == "GET" || method == "HEAD" || method == "DELETE" || method == "CONNECT";
  if (content_length != 0 || !bodiless) {
    out.append("Content-Length: ");
    append_number(out, content_length);
    out.append("\r\n");
  }
  out.append("\r\n");
}

}  // namespace mcpx::http1
