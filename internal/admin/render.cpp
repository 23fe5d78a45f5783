#include "admin/render.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "mcp/error_codes.hpp"

namespace mcpx::admin {
namespace {

// The size of the string token at the start of `text`, quotes included.
std::size_t string_size(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && text[at] != '"')
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

bool is_key(std::string_view rest) {
  const auto next = rest.find_first_not_of(" \t\r\n");
  return next != std::string_view::npos && rest[next] == ':';
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

json::Raw or_null(std::string_view raw) {
  return raw.empty() ? json::Raw("null") : raw;
}

std::int64_t number(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

// Without the "; remedy" that Error::text() appends, as the remedy has a member of its own here.
std::string cause_of(std::string message, const std::string& remedy) {
  const std::string tail = "; " + remedy;
  if (!remedy.empty() && message.size() > tail.size() &&
      message.compare(message.size() - tail.size(), tail.size(), tail) == 0) {
    message.resize(message.size() - tail.size());
  }
  return message;
}

unsigned status_of(std::string_view code) {
  if (code.find("timeout") != std::string_view::npos) return 504;
  return 502;
}

}  // namespace

std::string redact_json(json::Raw raw, const Redactor& redactor) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const auto quote = std::min(raw.find('"'), raw.size());
    out += raw.substr(0, quote);
    raw.remove_prefix(quote);
    if (raw.empty()) break;
    const json::Raw token = raw.substr(0, string_size(raw));
    raw.remove_prefix(token.size());
    const auto text = is_key(raw) ? std::nullopt : json::decode_string(token);
    const std::string clean = text ? redactor(*text) : std::string();
    if (text && clean != *text) {
      json::append_string(out, clean);
    } else {
      out += token;
    }
  }
  return out;
}

std::string string_array(const std::vector<std::string>& texts, const Redactor& redactor) {
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ',';
    json::append_string(out, redactor(text));
  }
  return out + "]";
}

std::string error_object(const Error& error, const Redactor& redactor) {
  json::ObjectBuilder object;
  object.string("code", error.code).string("message", redactor(error.message));
  return object.string("remedy", redactor(error.remedy)).take();
}

std::string store_object(const store::Status& status, const Redactor& redactor) {
  json::ObjectBuilder object;
  object.string("path", status.path).string("state", store::text(status.state));
  return object.string("message", redactor(status.message)).take();
}

std::string server_object(const upstream::Status& status, const Redactor& redactor) {
  json::ObjectBuilder object;
  object.string("name", status.name).string("state", upstream::text(status.state));
  object.string("transport", status.transport);
  object.raw("protocol", status.revision ? json::quoted(mcp::text(*status.revision)) : "null");
  object.integer("children", number(status.children));
  object.integer("instances", number(status.instances));
  object.integer("in_flight", number(status.in_flight));
  object.integer("starts", number(status.starts)).integer("failures", number(status.failures));
  object.integer("tools", number(status.tools)).integer("prompts", number(status.prompts));
  object.integer("resources", number(status.resources));
  object.integer("resource_templates", number(status.resource_templates));
  if (status.error) object.raw("error", error_object(*status.error, redactor));
  object.boolean("breaker_open", status.breaker_open).boolean("from_store", status.from_store);
  object.raw("stderr", string_array(status.stderr_tail, redactor));
  object.raw("remarks", string_array(status.remarks, redactor));
  object.integer("retry_in_ms", status.retry_in_ms);
  return object.raw("server_info", or_null(redact_json(status.server_info, redactor))).take();
}

std::string tool_object(const registry::Entry& tool, const Redactor& redactor) {
  const std::string definition = redact_json(tool.definition, redactor);
  json::ObjectBuilder object;
  object.string("name", tool.exposed).string("server", tool.source->name);
  object.string("original", tool.original);
  if (const auto title = json::find_string(definition, "title")) object.string("title", *title);
  object.string("description", json::find_string(definition, "description").value_or(""));
  return object.raw("definition", definition).take();
}

Failure failure_of(json::Raw rpc_error, const Redactor& redactor) {
  const std::string error = redact_json(rpc_error, redactor);
  const auto code = json::find(error, "code");
  const auto number = code ? json::as_integer(*code) : std::nullopt;
  const std::string message = json::find_string(error, "message").value_or("");
  const auto data = json::find(error, "data");
  const auto own_code = data ? json::find_string(*data, "code") : std::nullopt;
  const bool ours = number == mcp::kUpstreamFailure || number == mcp::kRequestCancelled;

  json::ObjectBuilder object;
  unsigned status = 502;
  if (ours && own_code) {
    const std::string remedy = json::find_string(*data, "remedy").value_or("");
    object.string("code", *own_code).string("message", cause_of(message, remedy));
    object.string("remedy", remedy);
    status = status_of(*own_code);
  } else {
    object.string("code", "upstream.rpc_error").string("message", message);
    object.string("remedy", "the server itself refused; see \"rpc\" for what it said");
    object.raw("rpc", error);
  }
  json::ObjectBuilder body;
  return Failure(status, body.raw("error", object.take()).take());
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace mcpx::admin
