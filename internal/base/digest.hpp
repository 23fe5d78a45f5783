// Digests, hexadecimal and Base64. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace mcpx {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case digits
std::string hex(std::string_view bytes);         // two lower-case digits for each
std::string base64(std::string_view bytes);      // RFC 4648 section 4, with padding

}  // namespace mcpx
