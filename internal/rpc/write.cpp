#include <algorithm>
#include <string>

#include "rpc/message.hpp"

namespace mcpx::rpc {
namespace {

constexpr std::string_view kHead = R"({"jsonrpc":"2.0")";

// Valid JSON has line ends only as white space between tokens, where a space means the same. They
// must go: a message on stdio is one line (spec, transports/stdio), whatever the peer's layout was.
void append_one_line(std::string& out, Raw value) {
  const std::size_t start = out.size();
  out += value;
  for (const char line_end : {'\n', '\r'}) {
    if (value.find(line_end) == Raw::npos) continue;
    std::replace(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), line_end, ' ');
  }
}

void append_member(std::string& out, std::string_view name, Raw value) {
  if (value.empty()) return;
  out += name;
  append_one_line(out, value);
}

void append_call(std::string& out, Raw id, std::string_view method, Raw params) {
  out.reserve(out.size() + kHead.size() + id.size() + method.size() + params.size() + 40);
  out += kHead;
  append_member(out, R"(,"id":)", id);
  out += R"(,"method":)";
  json::append_string(out, method);
  append_member(out, R"(,"params":)", params);
  out.push_back('}');
}

void append_response(std::string& out, Raw id, std::string_view name, Raw value) {
  out.reserve(out.size() + kHead.size() + id.size() + value.size() + 24);
  out += kHead;
  append_member(out, R"(,"id":)", id);
  append_member(out, name, value);
  out.push_back('}');
}

}  // namespace

std::optional<Number> id_number(Raw id) {
  return json::as_integer(id);
}

void append_result(std::string& out, Raw id, Raw result) {
  append_response(out, id, R"(,"result":)", result);
}

void append_error(std::string& out, Raw id, Raw error) {
  append_response(out, id, R"(,"error":)", error);
}

void append_request(std::string& out, Raw id, std::string_view method, Raw params) {
  append_call(out, id, method, params);
}

std::string request_envelope(Raw id, std::string_view method) {
  std::string out;
  append_call(out, id, method, {});
  out.pop_back();
  return out += R"(,"params":)";
}

void append_notification(std::string& out, std::string_view method, Raw params) {
  append_call(out, {}, method, params);
}

std::string error_object(int code, std::string_view message, Raw data) {
  json::ObjectBuilder error;
  error.integer("code", code).string("message", message).raw("data", data);
  return error.take();
}

}  // namespace mcpx::rpc
