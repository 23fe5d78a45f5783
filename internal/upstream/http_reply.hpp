// What an HTTP answer of a server means, apart from the JSON-RPC response in it: messages in bodies
// and events, a session that is gone, statuses as errors. Pure. Thread: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/padded_buffer.hpp"
#include "base/result.hpp"
#include "http1/message.hpp"
#include "json/json.hpp"
#include "rpc/message.hpp"

namespace mcpx::upstream {

bool is_event_stream(const http1::ResponseHead& head);

// The messages of one body or event: one; a batch (2025-03-26 basic/transports); or, as some
// servers write under application/json, one a line. `take` gets each, in order, unless one of them
// is none: error upstream.bad_frame with what was wrong.
using TakeMessage = std::function<void(rpc::Message&)>;
Result<void> read_messages(PaddedBuffer text, const json::Limits& limits, const TakeMessage& take);

// Whether an answer to a request that named a session says that the server no longer knows it
// (case C20). 404 is what the specification asks for (2025-11-25 basic/transports, "Session
// Management"); the rest is what servers do. `response` is the JSON-RPC response in the body, or
// null; `body` the text of one that is none.
bool session_is_gone(unsigned status, const rpc::Message* response, std::string_view body);

// Whether a modern server says that it does not speak the version it was found to speak.
bool refuses_version(const rpc::Message& response);

// Visible ASCII, as the specification demands of a session id; anything else would be a header
// injection.
bool is_session_id(std::string_view text);

// A status that is no answer, as the error a caller sees: what was asked, the status, the first of
// what the body says, and a remedy that fits. Not redacted yet.
Error status_error(const std::string& server, std::string_view method,
                   const http1::ResponseHead& head, std::string_view body);

// A body for an error message: white space and control bytes collapsed, at most 200 characters.
std::string excerpt(std::string_view body);

// An error of the HTTP client as one of a server's, told apart by its code only.
Error client_error(const std::string& server, const std::string& url, const Error& error);

}  // namespace mcpx::upstream
