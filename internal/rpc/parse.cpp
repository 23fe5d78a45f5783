#include <string>
#include <utility>

#include "base/check.hpp"
#include "json/scan.hpp"
#include "rpc/fields.hpp"
#include "rpc/message.hpp"

namespace mcpx::rpc {
namespace {

ParseFailure refuse(const Fields& fields, std::string message) {
  const bool readable = !fields.id_twice && is_id(fields.id);
  return {kInvalidRequest, std::move(message), readable ? std::string(fields.id) : std::string()};
}

// What is wrong with the members every message may have; empty when nothing is.
std::string fault_of(const Fields& fields) {
  if (!fields.duplicate.empty()) return "duplicate key \"" + std::string(fields.duplicate) + '"';
  if (fields.jsonrpc.empty()) return "\"jsonrpc\" is missing";
  if (fields.jsonrpc != "\"2.0\"" && json::decode_string(fields.jsonrpc) != "2.0") {
    return "\"jsonrpc\" must be \"2.0\"";
  }
  if (!fields.method.empty() && !(fields.result.empty() && fields.error.empty())) {
    return "a message is a request or a response, not both";
  }
  if (fields.method.empty() && fields.result.empty() && fields.error.empty()) {
    return "none of \"method\", \"result\" and \"error\" is there";
  }
  if (!fields.result.empty() && !fields.error.empty()) {
    return "a response has \"result\" or \"error\", not both";
  }
  if (!fields.error.empty() && !json::is_object(fields.error)) return "\"error\" must be an object";
  // An error may come without id, or with null, when the id of the request was unreadable.
  const bool may_be_null = !fields.error.empty();
  if (fields.id.empty() ? !fields.result.empty()
                        : !is_id(fields.id) && !(may_be_null && fields.id == "null")) {
    return "\"id\" must be a string or an integer";
  }
  // On a response "params" is one of the unknown members, which count for nothing.
  const bool structured = json::is_object(fields.params) || json::is_array(fields.params);
  if (!fields.method.empty() && !fields.params.empty() && !structured) {
    return "\"params\" must be an object";
  }
  return {};
}

Kind kind_of(const Fields& fields) {
  if (!fields.result.empty()) return Kind::result;
  if (!fields.error.empty()) return Kind::error;
  return fields.id.empty() ? Kind::notification : Kind::request;
}

Raw only_string(Raw value) {
  return json::is_string(value) ? value : Raw();
}

}  // namespace

void throw_exception_from_error(const ParseFailure& failure, const boost::source_location& where) {
  check_failed(failure.message.c_str(), where.file_name(), static_cast<int>(where.line()));
}

bool is_id(Raw token) {
  return json::is_string(token) || json::is_integer(token);
}

ParseResult parse(PaddedBuffer text, const json::Limits& limits) {
  Fields fields;
  if (const auto valid = json::validate(text.view(), limits, &fields); !valid) {
    return ParseFailure{kParseError, valid.error().message, {}};
  }
  const Raw body = json::trimmed(text.view());
  if (!json::is_object(body)) {
    const bool batch = json::is_array(body);
    return ParseFailure{kInvalidRequest,
                        batch ? "a batch where one message belongs" : "a message is an object",
                        {}};
  }
  if (std::string fault = fault_of(fields); !fault.empty()) {
    return refuse(fields, std::move(fault));
  }
  Message message;
  message.kind = kind_of(fields);
  if (!fields.method.empty()) {
    auto method = json::decode_string(fields.method);
    if (!method) return refuse(fields, "\"method\" must be a string");
    message.method = *std::move(method);
  }
  if (fields.id != "null") message.id = fields.id;
  if (fields.method.empty()) {
    message.result = fields.result;
    message.error = fields.error;
  } else {
    message.params = fields.params;
    message.name = only_string(fields.name);
    message.uri = only_string(fields.uri);
    message.task_id = only_string(fields.task_id);
    message.cursor = only_string(fields.cursor);
    if (json::is_object(fields.meta)) message.meta = fields.meta;
    message.arguments = fields.arguments;
    message.has_meta = !fields.meta.empty();
  }
  message.text = std::move(text);
  return ParseResult(std::move(message));
}

}  // namespace mcpx::rpc
