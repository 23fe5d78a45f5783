// Heads and chunks as text. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace mcpx::http1 {

using Field = std::pair<std::string_view, std::string_view>;

// "HTTP/1.1 200 OK\r\nContent-Type: ...\r\nContent-Length: N\r\n...\r\n\r\n"
void append_response_head(std::string& out, unsigned status, std::string_view content_type,
                          std::size_t content_length, std::span<const Field> extra,
                          bool keep_alive);
// The same with Transfer-Encoding: chunked, for a body whose length is not known.
void append_chunked_response_head(std::string& out, unsigned status, std::string_view content_type,
                                  std::span<const Field> extra);
void append_chunk(std::string& out, std::string_view data);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

void append_request_head(std::string& out, std::string_view method, std::string_view target,
                         std::string_view host, std::span<const Field> fields,
                         std::size_t content_length);

}  // namespace mcpx::http1
