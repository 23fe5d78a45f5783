// The JSON body of an answer the server itself gives (403, 404, 4xx, 503). Pure. Thread: any.
#pragma once

#include <string>

#include "base/result.hpp"

namespace mcpx::http {

// {"error":{"code":...,"message":...,"remedy":...}}
std::string error_body(const Error& error);

}  // namespace mcpx::http
