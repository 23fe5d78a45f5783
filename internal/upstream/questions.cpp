#include "upstream/questions.hpp"

#include "json/json.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::upstream {
namespace {

constexpr std::size_t kLongestMethod = 128;  // that is repeated to the server

std::string roots_result(const std::vector<config::Root>& roots) {
  std::string list = "[";
  for (const config::Root& root : roots) {
    json::ObjectBuilder entry;
    entry.string("uri", root.uri);
    if (!root.name.empty()) entry.string("name", root.name);
    if (list.size() > 1) list += ',';
    list += entry.take();
  }
  json::ObjectBuilder result;
  result.raw("roots", list + "]");
  return result.take();
}

}  // namespace

std::string declared_capabilities(const std::vector<config::Root>& roots) {
  return roots.empty() ? "{}" : R"({"roots":{}})";
}

bool belongs_to_a_call(std::string_view method, const std::vector<config::Root>& roots) {
  if (method == "roots/list") return roots.empty();
  return method == "elicitation/create" || method == "sampling/createMessage";
}

void append_answer(std::string& out, const rpc::Message& request,
                   const std::vector<config::Root>& roots) {
  if (request.method == "ping") return rpc::append_result(out, request.id, "{}");
  if (request.method == "roots/list" && !roots.empty()) {
    return rpc::append_result(out, request.id, roots_result(roots));
  }
  std::string what = "mcpx declared no capability for ";
  what += request.method.size() <= kLongestMethod ? request.method : "a method of that name";
  rpc::append_error(out, request.id, rpc::error_object(rpc::kMethodNotFound, what));
}

}  // namespace mcpx::upstream
