#include "downstream/modern_checks.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/check.hpp"
#include "downstream/fields.hpp"
#include "downstream/session.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::downstream {
namespace {

using Check = std::optional<Refusal>;

Refusal mismatch(std::string message) {
  return Refusal(400, mcp::kHeaderMismatch, "Header mismatch: " + std::move(message));
}

bool is_level(json::Raw token) {
  const auto level = json::decode_string(token);
  return level && Session::level_index(*level).has_value();
}

Refusal invalid(std::string message) {
  return Refusal(400, rpc::kInvalidParams, "Invalid params: " + std::move(message));
}

// A field that must appear once; two of them are two readings of one request.
boost::system::result<std::string_view, Refusal> single(const http1::Fields& fields,
                                                        std::string_view name) {
  const auto value = field(fields, name);
  if (!value) return mismatch(fmt::format("the {} header is missing", name));
  if (fields.count(name) > 1) return mismatch(fmt::format("the {} header is repeated", name));
  return *value;
}

Check check_version(const http1::Fields& fields, std::string_view version) {
  const auto header = single(fields, kVersionField);
  if (header.has_error()) return header.error();
  if (*header != version) {
    return mismatch(fmt::format("{} header value '{}' does not match _meta value '{}'",
                                kVersionField, *header, version));
  }
  const auto revision = mcp::parse_revision(version);
  if (revision && mcp::era_of(*revision) == mcp::Era::modern) return std::nullopt;
  json::ObjectBuilder data;
  data.raw("supported", modern_versions()).string("requested", version);
  return Refusal(400, mcp::kUnsupportedProtocolVersion, "Unsupported protocol version",
                 data.take());
}

Check check_method(const http1::Fields& fields, const rpc::Message& message) {
  const auto header = single(fields, kMethodField);
  if (header.has_error()) return header.error();
  if (*header == message.method) return std::nullopt;
  return mismatch(fmt::format("{} header value '{}' does not match body value '{}'", kMethodField,
                              *header, message.method));
}

// The parameter by which a request is routed, and what it says; no name: there is none.
std::pair<std::string_view, json::Raw> named_by(const rpc::Message& message, mcp::Routing routing) {
  switch (routing) {
    case mcp::Routing::by_name:
      return {"name", message.name};
    case mcp::Routing::by_uri:
      return {"uri", message.uri};
    case mcp::Routing::by_task:
      return {"taskId", message.task_id};
    case mcp::Routing::local:
    case mcp::Routing::by_ref:
      break;
  }
  return {};
}

// Mcp-Name mirrors params.name, for resources/read params.uri, for those of tasks params.taskId
// (SEP-2663, "Routing Headers"). The methods of skills have a `uri`
// too, for which their specification asks no field: one that is there must say the same.
Check check_name(const http1::Fields& fields, const rpc::Message& message, mcp::Method method) {
  const mcp::Routing routing = mcp::info(method).routing;
  const auto [member, token] = named_by(message, routing);
  if (member.empty()) return std::nullopt;
  const auto value = json::decode_string(token);
  if (!value) return invalid(fmt::format("'{}' must be a string", member));
  const bool asked_for = mcp::info(method).extension.empty() || routing == mcp::Routing::by_task;
  if (!asked_for && !field(fields, kNameField)) return std::nullopt;
  const auto header = single(fields, kNameField);
  if (header.has_error()) return header.error();
  const auto decoded = decode_mirrored(*header);
  if (!decoded) return mismatch(fmt::format("{} header value is malformed", kNameField));
  if (*decoded == *value) return std::nullopt;
  return mismatch(fmt::format("{} header value '{}' does not match body value '{}'", kNameField,
                              *decoded, *value));
}

}  // namespace

void throw_exception_from_error(const Refusal&, const boost::source_location& where) {
  check_failed("value() of a refusal", where.file_name(), static_cast<int>(where.line()));
}

const std::string& modern_versions() {
  static const std::string text = [] {
    std::string list = "[";
    for (const auto revision : mcp::kAllRevisions) {
      if (mcp::era_of(revision) != mcp::Era::modern) continue;
      if (list.size() > 1) list += ',';
      json::append_string(list, mcp::text(revision));
    }
    return list + "]";
  }();
  return text;
}

Opening opening_of(const http1::Fields& fields, const rpc::Message& message) {
  if (!message.meta.empty() && json::find(message.meta, mcp::kMetaProtocolVersion)) {
    return Opening::modern;
  }
  if (message.kind == rpc::Kind::request && message.method == "initialize") {
    return Opening::initialize;
  }
  const auto header = field(fields, kVersionField);
  const auto revision = header ? mcp::parse_revision(*header) : std::nullopt;
  if (revision && mcp::era_of(*revision) == mcp::Era::modern) return Opening::modern;
  return Opening::legacy;
}

RequestMeta read_meta(json::Raw meta) {
  RequestMeta found;
  const auto keep = [](json::Raw& slot, json::Raw value) {
    if (slot.empty()) slot = value;  // the first of a name, as json::find() has it
  };
  json::Members members(meta);
  while (const auto member = members.next()) {
    if (member->key_is(mcp::kMetaProtocolVersion)) {
      keep(found.protocol_version, member->value);
    } else if (member->key_is(mcp::kMetaClientInfo)) {
      keep(found.client_info, member->value);
    } else if (member->key_is(mcp::kMetaClientCapabilities)) {
      keep(found.client_capabilities, member->value);
    } else if (member->key_is(mcp::kMetaLogLevel)) {
      keep(found.log_level, member->value);
    } else if (member->key_is("progressToken")) {
      keep(found.progress_token, member->value);
    }
  }
  return found;
}

boost::system::result<ModernRequest, Refusal> check_modern(const http1::Fields& fields,
                                                           const rpc::Message& message) {
  if (message.meta.empty()) return invalid("'_meta' is missing");
  ModernRequest request;
  request.meta = read_meta(message.meta);
  const auto version = json::decode_string(request.meta.protocol_version);
  if (!version) return invalid(fmt::format("_meta '{}' is missing", mcp::kMetaProtocolVersion));
  if (auto refusal = check_version(fields, *version)) return *refusal;

  if (!json::is_object(request.meta.client_capabilities)) {
    return invalid(fmt::format("_meta '{}' is missing", mcp::kMetaClientCapabilities));
  }
  if (!request.meta.log_level.empty() && !is_level(request.meta.log_level)) {
    return invalid(
        fmt::format("_meta '{}' must be one of debug, info, notice, warning, error, "
                    "critical, alert, emergency",
                    mcp::kMetaLogLevel));
  }
  if (auto refusal = check_method(fields, message)) return *refusal;

  request.revision = *mcp::parse_revision(*version);
  request.method = mcp::method_of(message.method);
  const mcp::MethodInfo& method = mcp::info(request.method);
  const bool exists = mcp::exists_in(request.method, request.revision);
  if (!exists || !method.from_client || method.notification) {
    return Refusal(404, rpc::kMethodNotFound, fmt::format("Method not found: {}", message.method));
  }
  if (auto refusal = check_name(fields, message, request.method)) return *refusal;
  return request;
}

}  // namespace mcpx::downstream
