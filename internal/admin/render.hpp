// The JSON of /v1 from the types of other rooms. Internal to the room. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/redact.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "json/json.hpp"
#include "registry/snapshot.hpp"
#include "store/store.hpp"
#include "upstream/server.hpp"

namespace mcpx::admin {

// JSON with the secrets taken out of its string values. Never out of numbers or keywords: a secret
// may well read "true" or "8080", and the reply must stay JSON.
std::string redact_json(json::Raw raw, const Redactor& redactor);

std::string string_array(const std::vector<std::string>& texts, const Redactor& redactor);

// {"code","message","remedy"}
std::string error_object(const Error& error, const Redactor& redactor);

// {"path","state","message"}
std::string store_object(const store::Status& status, const Redactor& redactor);

std::string server_object(const upstream::Status& status, const Redactor& redactor);
std::string tool_object(const registry::Entry& tool, const Redactor& redactor);

// How a failed call is told: {"error":{...}} and an HTTP status. An error of the server itself has
// code upstream.rpc_error and is given whole under "rpc".
struct Failure {
  unsigned status = 502;
  std::string body;

  Failure(unsigned status_, std::string body_) : status(status_), body(std::move(body_)) {}
};
Failure failure_of(json::Raw rpc_error, const Redactor& redactor);

// "a%20b" -> "a b"; what is no escape stays as it is.
std::string percent_decode(std::string_view text);

}  // namespace mcpx::admin
