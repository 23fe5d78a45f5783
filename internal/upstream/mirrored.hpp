// Mirrored: the header fields in which a request to a modern HTTP server repeats its parameters
// (2026-07-28 basic/transports/streamable-http, "Request Metadata"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call/call.hpp"
#include "http1/encode.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::upstream {

class Mirrored {
 public:
  Mirrored() = default;
  // Of a caller's request. What `offers` (may be null) says of the tool decides about Mcp-Param-*;
  // it must outlive the Mirrored.
  Mirrored(const call::Call& call, const Catalogue* offers);

  // Mcp-Method and what else there is; the fields refer to this object and to `method`.
  void append_to(std::vector<http1::Field>& fields, std::string_view method) const;

 private:
  std::optional<std::string> name_;
  std::vector<std::pair<std::string_view, std::string>> params_;
};

}  // namespace mcpx::upstream
