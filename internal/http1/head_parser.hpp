// The grammar of an HTTP/1.1 head (RFC 9112 sections 3 to 5), read into Fields.
//
// Takes one complete head as HeadScanner finds it: lines that end in CR LF, none folded, an empty
// one last. Names are tokens directly before the colon; what is not in the grammar is a fault,
// never guessed at, since a peer might guess differently (request smuggling). Internal to http1.
// Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http1/message.hpp"
#include "http1/rules.hpp"

namespace mcpx::http1 {

enum class HeadFault {
  none,
  method,
  target,
  version,
  status,
  reason,
  field_name,
  field_value,
  content_length,
  two_content_lengths,
  too_many_fields,
};
// What is wrong, for the message of an error.
std::string_view describe(HeadFault fault);

// Views are into the head that was read.
struct Head {
  std::string_view method, target;  // of a request
  int status = 0;                   // of a response
  std::string_view reason;
  int version = 0;  // 10 or 11
  std::optional<std::uint64_t> content_length;
  Facts facts;

  bool persistent() const { return version >= 11 ? !says_close : says_keep_alive; }
  bool says_close = false, says_keep_alive = false;
};

// `fields` gets what was read, at most `limit` of them.
HeadFault read_request_head(std::string_view text, std::size_t limit, Head& head, Fields& fields);
// A status line may end after the status: many servers forget the space of RFC 9112 section 4.
HeadFault read_response_head(std::string_view text, std::size_t limit, Head& head, Fields& fields);

}  // namespace mcpx::http1
