#include "upstream/questions.hpp"

#include "json/json.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::upstream {
namespace {

constexpr std::size_t kLongestMethod = 128;  // that is repeated to the server

}  // namespace

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

mcp::Askable declared_for(const config::Server& config, mcp::Askable caller) {
  mcp::Askable askable = caller;
  if (!config.roots.empty()) {
    askable = static_cast<mcp::Askable>((askable & ~mcp::kAskRootsChanges) | mcp::kAskRoots);
  } else if (config.scope == config::Scope::shared) {
    askable = static_cast<mcp::Askable>(askable & ~mcp::kAskRootsChanges);
  }
  return askable;
}

bool belongs_to_a_call(std::string_view method, const std::vector<config::Root>& roots) {
  if (method == "roots/list") return roots.empty();
  return method == "elicitation/create" || method == "sampling/createMessage";
}

bool was_declared(const rpc::Message& request, mcp::Askable declared) {
  const auto kind = mcp::question_kind(request.method, request.params);
  if (!kind) return false;
  const mcp::Askable needed = mcp::needed_for(*kind, request.params);
  return (declared & needed) == needed;
}

std::string unattributed_answer(const rpc::Message& request, std::size_t calls) {
  const auto kind = mcp::question_kind(request.method, request.params);
  const std::string why = calls == 0 ? "no call is in progress that it could be asked for"
                                     : "it cannot be told which of the calls in progress asks";
  std::string out;
  const mcp::NoAnswer none = mcp::no_answer(kind.value_or(mcp::QuestionKind::roots), why);
  if (none.error.empty()) {
    rpc::append_result(out, request.id, none.result);
  } else {
    rpc::append_error(out, request.id, none.error);
  }
  return out;
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
