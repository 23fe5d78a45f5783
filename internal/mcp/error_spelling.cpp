#include <string>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/spelling.hpp"
#include "rpc/message.hpp"

namespace mcpx::mcp {
namespace {

using json::Raw;

// A not-found answer to resources/read as modern servers give it; other invalid parameters carry no
// URI (2026-07-28 server/resources, "Error Handling").
bool names_missing_resource(Method method, Raw error) {
  if (method != Method::resources_read) return false;
  const auto uri = json::find(error, "data", "uri");
  return uri && json::is_string(*uri);
}

std::int64_t legacy_code(Method method, Raw error, std::int64_t code, Revision to) {
  switch (code) {
    case rpc::kInvalidParams:
      return names_missing_resource(method, error) ? kResourceNotFound : code;
    // The request, as it was sent, was refused: no legacy revision says it closer than that.
    case kHeaderMismatch:
    case kMissingClientCapability:
    case kUnsupportedProtocolVersion:
      return rpc::kInvalidRequest;
    case kUrlElicitationRequired:
      return to == Revision::r2025_11_25 ? code : rpc::kInternalError;
    default:
      return code;
  }
}

// 2026-07-28 must not emit -32002 and -32042 (basic/index, "Error Codes").
std::int64_t modern_code(std::int64_t code) {
  if (code == kResourceNotFound) return rpc::kInvalidParams;
  if (code == kUrlElicitationRequired) return rpc::kInternalError;
  return code;
}

// Codes with a meaning in one era only are read with the meaning of the era they come from.
std::int64_t code_for(Method method, Raw error, std::int64_t code, const ErrorContext& context) {
  if (era_of(context.to) == Era::modern) {
    const bool modern = context.from && era_of(*context.from) == Era::modern;
    return modern ? code : modern_code(code);
  }
  const bool legacy = context.from && era_of(*context.from) == Era::legacy;
  if (legacy && code != kUrlElicitationRequired) return code;
  return legacy_code(method, error, code, context.to);
}

}  // namespace

void append_error_for(std::string& out, Method method, Raw error, const ErrorContext& context) {
  const auto code_token = json::find(error, "code");
  const auto code = code_token ? json::as_integer(*code_token) : std::nullopt;
  const auto message = json::find(error, "message");
  json::Splice splice(error);
  if (code) {
    const std::int64_t spelled = code_for(method, error, *code, context);
    if (spelled != *code) splice.set("code", std::to_string(spelled));
    const bool not_found = *code == kResourceNotFound && spelled == rpc::kInvalidParams;
    if (not_found && method == Method::resources_read && !context.uri.empty()) {
      json::ObjectBuilder data;
      data.string("uri", context.uri);
      splice.set_default("data", data.take());
    }
  } else {  // every revision demands an integer and a message
    splice.set("code", std::to_string(rpc::kInternalError));
  }
  if (!message || !json::is_string(*message)) {
    splice.set("message", json::quoted("the server gave no error message"));
  }
  splice.append_to(out);
}

void append_error_for(std::string& out, Method method, Raw error, Revision to) {
  ErrorContext context;
  context.to = to;
  append_error_for(out, method, error, context);
}

unsigned http_status_for(int code, Revision to, ErrorStage stage) {
  constexpr unsigned kOk = 200;
  constexpr unsigned kBadRequest = 400;
  constexpr unsigned kNotFound = 404;
  if (era_of(to) == Era::legacy) return stage == ErrorStage::validation ? kBadRequest : kOk;
  switch (code) {
    case rpc::kMethodNotFound:
      return kNotFound;
    case rpc::kParseError:
    case rpc::kInvalidRequest:
    case kHeaderMismatch:
    case kMissingClientCapability:
    case kUnsupportedProtocolVersion:
      return kBadRequest;
    default:
      return stage == ErrorStage::validation ? kBadRequest : kOk;
  }
}

}  // namespace mcpx::mcp
