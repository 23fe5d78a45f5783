// Content codings of a response (RFC 9110 section 8.4): mcpx asks for none, and servers use them
// all the same (case C38). Pure. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http1/message.hpp"

namespace mcpx::http1 {

enum class ContentCoding : std::uint8_t { identity, gzip, deflate, unknown };

// What all Content-Encoding fields say together; more than one coding is unknown.
ContentCoding content_coding(const Fields& fields);
// Them as text, for a message: bounded, without control characters.
std::string content_coding_text(const Fields& fields);

// Decodes gzip or deflate as it comes. However the input is split, the output is the same, and no
// more of it is made than was asked for: a small input may stand for a thousand times its size.
class Inflater {
 public:
  explicit Inflater(ContentCoding coding);  // gzip or deflate
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void feed(std::string_view bytes);
  // Fills `into` as far as what was fed goes; 0: feed more, or it has failed().
  std::size_t take(std::span<char> into);
  // Nothing is missing: no input at all, or whole streams.
  bool complete() const;
  bool failed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mcpx::http1
