// What the grammar of a head lets through and a proxy must not: rules about single values.
// Internal to http1. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string_view>

namespace mcpx::http1 {

// What of the fields concerns the framing; views into the head being parsed.
struct Facts {
  std::size_t hosts = 0, encodings = 0;
  std::string_view host, encoding;
  bool expects_continue = false, expects_other = false;
};

enum class Coding { none, chunked, unknown, stacked };

// Exactly one field saying exactly "chunked" frames a body. Everything else is a way to make two
// readers see two bodies (request smuggling).
Coding coding(const Facts& facts);

// host [":" port], RFC 3986 section 3.2 without user information and without ',', which joins two.
bool is_authority(std::string_view text);

// "HTTP/2.0": another version than ours, well spelled, is 505 and not 400.
bool names_another_version(std::string_view line);

std::string_view trimmed(std::string_view text);  // of spaces and tabs

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);

}  // namespace mcpx::http1
