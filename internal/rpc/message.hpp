// JSON-RPC 2.0 messages: read in one pass, kept as text and spans, written by splicing.
//
// parse() validates the whole text and notes what it needs on the way, keys unescaped; it refuses
// duplicated protocol keys, so that mcpx and its peers cannot read one message two ways. Pure.
// Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/padded_buffer.hpp"
#include "json/json.hpp"

namespace mcpx::rpc {

using json::Raw;

// Codes of JSON-RPC itself; MCP's own are in mcp/error_codes.hpp.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;

enum class Kind { request, notification, result, error };

// A parsed message. Spans and method point into `text`, which moves with it.
struct Message {
  PaddedBuffer text;
  Kind kind = Kind::notification;
  Raw id;              // the token as written; empty on notifications and on errors without id
  std::string method;  // decoded; empty on responses
  Raw params;          // object or array; empty when absent
  Raw result;          // any value, on results
  Raw error;           // an object, on errors

  // What routing needs of `params`, found in the same pass; empty when absent or of another kind.
  // Raw tokens, except that `meta` is the _meta object.
  Raw name, uri, task_id, cursor, meta;
  Raw arguments;          // of any kind
  bool has_meta = false;  // there is a "_meta", of whatever kind
};

// Why a text is not a message: what to answer.
struct ParseFailure {
  int code = kParseError;  // or kInvalidRequest
  std::string message;
  std::string id;  // raw token of the id when it could be read, for the error response
};
using ParseResult = boost::system::result<Message, ParseFailure>;

// So that value() of a ParseResult compiles; calling it on a failure is a bug of ours.
[[noreturn]] void throw_exception_from_error(const ParseFailure& failure,
                                             const boost::source_location& where);

// Refused with kInvalidRequest: "jsonrpc" other than "2.0"; a request id that is no string and no
// integer (null included); params that are neither object nor array (null included); a response
// with both or neither of result and error, or an error that is no object; and a second copy of
// jsonrpc, id, method, params, result, error, or inside params of name, uri, _meta, taskId, cursor.
ParseResult parse(PaddedBuffer text, const json::Limits& limits);

// Splits a JSON-RPC batch (2025-03-26 only) into its elements, each a text of its own.
// nullopt when the text is not an array. The text must be valid.
bool is_batch(std::string_view text);
std::optional<std::vector<PaddedBuffer>> split_batch(const PaddedBuffer& text);

// A legal request id: a string, or a number without fraction (1.0 is one, and is echoed as
// written). `messages-request-id-string-or-integer`
bool is_id(Raw token);

// Ids as mcpx makes them: integers counted up per connection.
using Number = std::int64_t;
std::optional<Number> id_number(Raw id);  // of an id mcpx made; 7.0 is 7, some peers print it so

// Writing. `id` is a raw token, `result`, `error` and `params` raw JSON. One line, no line end: raw
// JSON goes in byte for byte, except that line ends between its tokens become spaces.
void append_result(std::string& out, Raw id, Raw result);
void append_error(std::string& out, Raw id, Raw error);  // id empty: left out
void append_request(std::string& out, Raw id, std::string_view method, Raw params);
// The same in three parts, for a writer that gathers: this, the params, and "}".
std::string request_envelope(Raw id, std::string_view method);
void append_notification(std::string& out, std::string_view method, Raw params);
// {"code":...,"message":...,"data":...}; data may be empty.
std::string error_object(int code, std::string_view message, Raw data = {});

}  // namespace mcpx::rpc
