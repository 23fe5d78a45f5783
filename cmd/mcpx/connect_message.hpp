// What the bridge knows about single messages: their headers on HTTP, whether they may be repeated,
// and whose answer a reply is. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rpc/message.hpp"

namespace mcpx::cli {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

// A legacy session as the daemon opened it; empty before `initialize` was answered.
struct Session {
  std::string id;           // Mcp-Session-Id; may stay empty
  std::string version;      // negotiated
  unsigned generation = 0;  // counts up whenever it is opened anew
};

// The revision a modern message carries in _meta; nullopt on legacy ones.
std::optional<std::string> modern_version(const rpc::Message& message);

// Headers of a POST: content negotiation, then those of the message's era.
HeaderList headers_for(const rpc::Message& message, const Session& session);
HeaderList headers_for_stream(const Session& session);  // of GET and DELETE

// Whether a request whose fate is unknown may be sent again: everything but tools/call.
bool safe_to_repeat(std::string_view method);

// JSON on one line: line ends between tokens become spaces.
std::string one_line(std::string_view json);

bool same_id(json::Raw a, json::Raw b);

// What a text from the daemon is to the request `id`.
struct Incoming {
  enum class Kind { answer, other_message, garbage };
  Kind kind = Kind::garbage;
  bool is_result = false;  // of an answer
  std::string line;        // as to be written; an answer without an id gets the request's
};
Incoming read_incoming(std::string_view text, json::Raw id);

// An error response with the bridge's own reason, in data.code as elsewhere in mcpx.
std::string error_line(json::Raw id, int code, const Error& error);

}  // namespace mcpx::cli
