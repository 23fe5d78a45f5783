#include "broker/question_json.hpp"

#include "json/json.hpp"

namespace mcpx::broker {
namespace {

constexpr std::size_t kLongestMessage = 4096;  // in a list; the whole is in its params, as is a URL

json::ObjectBuilder built(const store::QuestionRow& row) {
  json::ObjectBuilder out;
  out.string("id", row.id).string("state", row.state).string("server", row.server);
  if (!row.target.empty()) out.string("target", row.target);
  out.string("kind", row.kind).string("method", row.method);
  if (!row.client.empty()) out.string("client", row.client);
  if (!row.principal.empty()) out.string("principal", row.principal);
  if (const auto message = json::find_string(row.params, "message")) {
    out.string("message", std::string_view(*message).substr(0, kLongestMessage));
  }
  if (row.kind == "url") {
    const auto url = json::find_string(row.params, "url");
    if (url && url->size() <= kLongestMessage) out.string("url", *url);
  }
  out.integer("created_at", row.created_at).integer("expires_at", row.expires_at);
  if (row.state == "pending") return out;
  if (!row.action.empty()) out.string("action", row.action);
  out.integer("answered_at", row.answered_at);
  if (!row.surface.empty()) out.string("surface", row.surface);
  if (!row.answered_by.empty()) out.string("answered_by", row.answered_by);
  if (row.state == "answered") out.boolean("delivered", row.used);
  return out;
}

}  // namespace

std::string summary_json(const store::QuestionRow& row) {
  return built(row).take();
}

std::string question_json(const store::QuestionRow& row) {
  return built(row).raw("params", row.params).take();
}

std::string event_json(std::string_view type, const store::QuestionRow& row) {
  json::ObjectBuilder out;
  return out.string("type", type).raw("question", summary_json(row)).take();
}

}  // namespace mcpx::broker
