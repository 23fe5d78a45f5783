#include "upstream/http_reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "json/scan.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::upstream {
namespace {

constexpr std::size_t kExcerpt = 200;  // bytes of a server's text in an error of ours
constexpr std::size_t kLocationShown = 200;
constexpr int kServerError = -32000;      // what SDKs answer when they do not know a session
constexpr int kSessionNotFound = -32001;  // the same, of the TypeScript SDK

bool mentions(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), word.begin(), word.end(), same) != text.end();
}

bool says_gone(std::string_view message) {
  if (!mentions(message, "session")) return false;
  constexpr std::array words = {"not found",  "not exist",      "expired",   "invalid",
                                "unknown",    "no valid",       "no longer", "missing",
                                "terminated", "not initialized"};
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return mentions(message, word); });
}

std::int64_t code_of(const rpc::Message& response) {
  const auto code = json::find(response.error, "code");
  return code ? json::as_integer(*code).value_or(0) : 0;
}

// Only the part that says where: a query may hold a token.
std::string place(std::string_view location) {
  std::string out(location.substr(0, std::min(location.find_first_of("?#"), kLocationShown)));
  const auto scheme = out.find("://");
  if (scheme == std::string::npos) return out;
  const auto end = out.find('/', scheme + 3);
  const auto at = out.rfind('@', end);
  if (at != std::string::npos && at > scheme) out.erase(scheme + 3, at - scheme - 2);
  return out;
}

std::string remedy_for(const http1::ResponseHead& head) {
  switch (head.status) {
    case 401:
      return "set `auth:` for this server, or check that its credentials are still valid";
    case 403:
      return "check that the credentials configured for this server may use it";
    case 404:
    case 405:
    case 406:
    case 415:
      return "check the url configured for this server: no MCP server answers there";
    case 407:
      return "put the user and password of the proxy into `proxy:`";
    case 413:
      return "send less, or raise the limit of the server or of the proxy before it";
    case 429: {
      const auto after = head.fields.find("Retry-After");
      return after && after->size() < 32
                 ? fmt::format("wait {} (Retry-After), and call less often", excerpt(*after))
                 : "wait, and call less often";
    }
    case 502:
    case 503:
    case 504:
      return "the server is down or busy behind its gateway: see its own log, and try again";
    default:
      break;
  }
  if (head.status >= 300 && head.status < 400) {
    const auto location = head.fields.find("Location");
    return location ? fmt::format("redirects are not followed: set url to {} if you trust it",
                                  place(*location))
                    : "check the url configured for this server";
  }
  if (head.status / 100 == 2) {
    return "report this to the server's author: a request needs an answer in its own response";
  }
  return head.status >= 500 ? "see the server's own log"
                            : "check the url configured for this server";
}

}  // namespace

bool is_event_stream(const http1::ResponseHead& head) {
  constexpr std::string_view kType = "text/event-stream";
  const auto type = head.fields.find("Content-Type");
  return type && http1::equals_ignoring_case(type->substr(0, kType.size()), kType);
}

namespace {

Error not_json_rpc(const rpc::ParseFailure& failure) {
  return Error("upstream.bad_frame", failure.message);
}

Result<void> take_all(std::vector<PaddedBuffer> parts, const json::Limits& limits,
                      const TakeMessage& take) {
  std::vector<rpc::Message> messages;
  for (PaddedBuffer& part : parts) {
    rpc::ParseResult parsed = rpc::parse(std::move(part), limits);
    if (!parsed) return not_json_rpc(parsed.error());
    messages.push_back(std::move(*parsed));
  }
  for (rpc::Message& message : messages)
    take(message);
  return {};
}

// A first line that is complete, and something after it.
bool is_one_a_line(std::string_view text) {
  const std::string_view body = json::trimmed(text);
  const std::size_t end = body.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view first = json::trimmed(body.substr(0, end));
  return first.front() == '{' && first.back() == '}';
}

std::vector<PaddedBuffer> lines_of(std::string_view text) {
  std::vector<PaddedBuffer> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

Result<void> read_messages(PaddedBuffer text, const json::Limits& limits, const TakeMessage& take) {
  if (rpc::is_batch(text.view())) {
    Result<void> valid = json::validate(text.view(), limits);
    if (!valid) return Error("upstream.bad_frame", valid.error().message);
    return take_all(rpc::split_batch(text).value_or(std::vector<PaddedBuffer>()), limits, take);
  }
  if (is_one_a_line(text.view())) return take_all(lines_of(text.view()), limits, take);
  rpc::ParseResult parsed = rpc::parse(std::move(text), limits);
  if (!parsed) return not_json_rpc(parsed.error());
  take(*parsed);
  return {};
}

bool session_is_gone(unsigned status, const rpc::Message* response, std::string_view body) {
  if (!response) return status == 404 || (status == 400 && mentions(body, "session"));
  if (response->kind != rpc::Kind::error) return false;
  const std::int64_t code = code_of(*response);
  const std::string message = json::find_string(response->error, "message").value_or("");
  const bool usual_code =
      code == rpc::kInvalidRequest || code == kServerError || code == kSessionNotFound;
  // An error of the method itself, spelled with a status that fits it: the session was known.
  if (!usual_code && !response->id.empty() && response->id != "null") {
    return status == 404 && says_gone(message);
  }
  if (status == 404) return true;
  // A restarted server of the TypeScript SDK: "Bad Request: Server not initialized".
  if (status == 400) return mentions(message, "session") || mentions(message, "not initialized");
  return usual_code && says_gone(message);
}

bool refuses_version(const rpc::Message& response) {
  return response.kind == rpc::Kind::error && code_of(response) == mcp::kUnsupportedProtocolVersion;
}

bool is_session_id(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x21 && c <= 0x7E; });
}

std::string excerpt(std::string_view body) {
  std::string out;
  for (const char c : body) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7F) {
      out += c;
    } else if (!out.empty() && out.back() != ' ') {
      out += ' ';
    }
    if (out.size() >= kExcerpt) break;
  }
  std::size_t end = out.size();
  if (end >= kExcerpt) {
    while (end > 0 && (static_cast<unsigned char>(out[end - 1]) & 0xC0U) == 0x80U)
      --end;  // a character cut in two
    if (end > 0 && (static_cast<unsigned char>(out[end - 1]) & 0x80U) != 0) --end;
    out.resize(end);
    out += "...";
  }
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

Error status_error(const std::string& server, std::string_view method,
                   const http1::ResponseHead& head, std::string_view body) {
  std::string message =
      fmt::format("server {} answered {} with HTTP {}", server, method, head.status);
  const std::string words = excerpt(body);
  if (!words.empty()) message += fmt::format(": {}", words);
  return Error("upstream.http_status", std::move(message), remedy_for(head));
}

Error client_error(const std::string& server, const std::string& url, const Error& error) {
  std::string code = "upstream.unreachable";
  std::string remedy = "check url, and that the server runs";
  if (error.code == "http.closed") {
    code = "upstream.disconnected";
    remedy = "call again if that does no harm, and see the server's own log";
  } else if (error.code == "http.cancelled") {
    code = "request.cancelled";
    remedy.clear();
  } else if (error.code == "http.timeout") {
    code = "upstream.timeout";
    remedy = "raise call_timeout for this server, or see what it is doing";
  } else if (error.code == "http.tls") {
    code = "upstream.tls";
    remedy = "check the certificate of the server and `tls:` of this server";
  } else if (error.code == "http.encoding" || error.code == "http.bad_response") {
    code = "upstream.bad_frame";
    remedy = "report this to the server's author";
  } else if (error.code == "http.too_large") {
    code = "upstream.too_large";
    remedy = "raise limits.message in the configuration";
  }
  if (!error.remedy.empty()) remedy = error.remedy;
  return Error(std::move(code),
               fmt::format("server {} at {}: {}", server, place(url), error.message),
               std::move(remedy));
}

}  // namespace mcpx::upstream
