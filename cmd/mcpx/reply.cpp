#include "reply.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <cstdio>

#include "exit_codes.hpp"

namespace mcpx::cli {
namespace {

constexpr int kDeepest = 200;

std::optional<bj::object> parse_object(const std::string& body) {
  boost::system::error_code failure;
  bj::parse_options options;
  options.max_depth = kDeepest;
  bj::value value = bj::parse(body, failure, {}, options);
  if (failure || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

Error error_of(const Answer& answer, const std::optional<bj::object>& object) {
  const bj::object* error = object ? object_of(*object, "error") : nullptr;
  if (!error) {
    return Error("cli.failed", fmt::format("the daemon answered HTTP {}", answer.status),
                 "is it mcpxd that listens there?");
  }
  std::string message = text_of(*error, "message", "the daemon refused");
  if (const bj::object* rpc = object_of(*error, "rpc")) {
    message += fmt::format(" (error {} of the server)", number_of(*rpc, "code"));
  }
  return Error(text_of(*error, "code", "cli.failed"), message, text_of(*error, "remedy"));
}

}  // namespace

Fetched fetch(const Context& context, std::string_view method, const std::string& target,
              std::string_view body, Milliseconds timeout) {
  Fetched out;
  auto answer = ask_daemon(daemon_of(context), method, target, body, timeout);
  if (!answer) {
    out.code = fail_with(context, answer.error(), exit_code_of(answer.error()));
    return out;
  }
  auto object = parse_object(answer->body);
  const bool fine = answer->status == 200 || answer->status == 202;
  if (!fine || !object) {
    // Scripts read the daemon's words; people get cause and remedy.
    if (context.json && object) print(answer->body + "\n");
    out.code = fail_with(context, error_of(*answer, object), kFailed);
    return out;
  }
  out.status = answer->status;
  out.body = std::move(answer->body);
  out.object = std::move(*object);
  return out;
}

std::string text_of(const bj::object& object, std::string_view key, std::string_view otherwise) {
  const bj::value* value = object.if_contains(key);
  if (!value || !value->is_string()) return std::string(otherwise);
  return std::string(value->get_string().c_str(), value->get_string().size());
}

std::int64_t number_of(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  if (!value) return 0;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<std::int64_t>(value->get_uint64());
  return value->is_double() ? static_cast<std::int64_t>(value->get_double()) : 0;
}

const bj::array* array_of(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value && value->is_array() ? &value->get_array() : nullptr;
}

const bj::object* object_of(const bj::object& object, std::string_view key) {
  const bj::value* value = object.if_contains(key);
  return value && value->is_object() ? &value->get_object() : nullptr;
}

std::string ago(std::int64_t milliseconds) {
  const std::int64_t seconds = milliseconds / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{} h {} min", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{} d {} h", seconds / 86'400, seconds % 86'400 / 3600);
}

std::string pretty(const bj::value& value, int indent) {
  const std::string inner(static_cast<std::size_t>(indent) + 2, ' ');
  const std::string outer(static_cast<std::size_t>(indent), ' ');
  std::string out;
  if (value.is_object() && !value.get_object().empty()) {
    for (const auto& member : value.get_object()) {
      out += out.empty() ? "{\n" : ",\n";
      out += inner + bj::serialize(bj::string(member.key())) + ": ";
      out += pretty(member.value(), indent + 2);
    }
    return out + "\n" + outer + "}";
  }
  if (value.is_array() && !value.get_array().empty()) {
    for (const bj::value& item : value.get_array()) {
      out += out.empty() ? "[\n" : ",\n";
      out += inner + pretty(item, indent + 2);
    }
    return out + "\n" + outer + "]";
  }
  return bj::serialize(value);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace mcpx::cli
