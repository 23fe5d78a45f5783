// Which era a POST is in, and whether a modern one says the same in its fields and its body.
//
// The body is decisive: a _meta protocol version means modern whatever the session field says
// (2026-07-28 basic/versioning, "Backward Compatibility"). Pure. Thread: any.
#pragma once

#include <optional>
#include <string>

#include "http1/message.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"
#include "rpc/message.hpp"

namespace mcpx::downstream {

enum class Opening { modern, initialize, legacy };
Opening opening_of(const http1::Fields& fields, const rpc::Message& message);

// Why a request is not served: an HTTP status and a JSON-RPC error.
struct Refusal {
  unsigned status = 400;
  int code = 0;
  std::string message;
  std::string data;  // raw JSON, or empty

  Refusal() = default;  // what result<T>::error() answers when there is none
  Refusal(unsigned status_, int code_, std::string message_, std::string data_ = {})
      : status(status_), code(code_), message(std::move(message_)), data(std::move(data_)) {}
};

// The members of a request's _meta that mcpx reads, found in one pass; empty when absent.
struct RequestMeta {
  json::Raw protocol_version, client_info, client_capabilities, log_level, progress_token;
};
RequestMeta read_meta(json::Raw meta);

// The checks every modern request passes before anything is done for it. On success the method and
// the revision are known.
struct ModernRequest {
  RequestMeta meta;
  mcp::Method method = mcp::Method::server_discover;
  mcp::Revision revision = mcp::kLatestModern;
};
boost::system::result<ModernRequest, Refusal> check_modern(const http1::Fields& fields,
                                                           const rpc::Message& message);

[[noreturn]] void throw_exception_from_error(const Refusal& refusal,
                                             const boost::source_location& where);

// ["2026-07-28"]: what data.supported and supportedVersions list. Only versions that a request's
// _meta may name: the legacy ones are reached by `initialize`, which no reader of this list sends.
const std::string& modern_versions();

}  // namespace mcpx::downstream
