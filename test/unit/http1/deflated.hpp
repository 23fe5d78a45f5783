// Text packed by zlib, for tests of what unpacks it.
#pragma once

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace mcpx::test {

enum class Form { gzip, zlib, raw };

// Each part flushed, so that it can be read when it is there; the last ends the stream.
inline std::vector<std::string> deflated_parts(const std::vector<std::string>& parts, Form form) {
  const int bits = form == Form::gzip   ? MAX_WBITS + 16
                   : form == Form::zlib ? MAX_WBITS
                                        : -MAX_WBITS;
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string packed(compressBound(static_cast<uLong>(parts[i].size())) + 64, '\0');
    std::string part = parts[i];  // zlib wants it writable
    stream.next_in = reinterpret_cast<Bytef*>(part.data());
    stream.avail_in = static_cast<uInt>(part.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const bool last = i + 1 == parts.size();
    REQUIRE(deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH) == (last ? Z_STREAM_END : Z_OK));
    packed.resize(packed.size() - stream.avail_out);
    out.push_back(std::move(packed));
  }
  deflateEnd(&stream);
  return out;
}

inline std::string deflated(const std::string& text, Form form) {
  return deflated_parts(std::vector<std::string>(1, text), form).front();
}

}  // namespace mcpx::test
