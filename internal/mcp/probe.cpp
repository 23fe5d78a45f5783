#include "mcp/probe.hpp"

#include <algorithm>
#include <utility>

#include "mcp/error_codes.hpp"
#include "mcp/method.hpp"
#include "mcp/self.hpp"

namespace mcpx::mcp {
namespace {

// -32022 asks for another version. One retry is what the specification suggests; a second covers a
// server that narrows its list. A server that goes on refusing is broken.
constexpr unsigned kDiscoverAttempts = 3;
// What a modern server that does not describe itself may have: its lists are asked for, and one it
// lacks is answered with -32601.
constexpr const char* kAssumedCapabilities =
    R"({"tools":{},"prompts":{},"resources":{},"completions":{}})";
constexpr std::int64_t kMethodNotFound = -32601;  // JSON-RPC's own
constexpr const char* kUnexpected = "sent something that the handshake was not waiting for";
constexpr std::size_t kShownOfPeer = 80;  // characters of a peer's text in an error of ours

std::string raw_copy(std::optional<json::Raw> value) {
  return value ? std::string(*value) : std::string();
}

std::string object_copy(std::optional<json::Raw> value) {
  return value && json::is_object(*value) ? std::string(*value) : std::string();
}

std::string string_token(std::optional<json::Raw> value) {
  return value && json::is_string(*value) ? std::string(*value) : std::string();
}

std::string shown(std::string text) {
  if (text.size() <= kShownOfPeer) return text;
  std::size_t end = kShownOfPeer;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  text.resize(end);
  return text + "...";
}

// What a list of protocol versions offers us.
struct Offer {
  bool is_list = false;
  std::optional<Revision> modern, legacy;  // the latest of each that we speak
};

Offer read_versions(std::optional<json::Raw> versions) {
  Offer offer;
  if (!versions || !json::is_array(*versions)) return offer;
  offer.is_list = true;
  json::Elements elements(*versions);
  while (const auto element = elements.next()) {
    const auto name = json::decode_string(*element);
    const auto revision = name ? parse_revision(*name) : std::nullopt;
    if (!revision) continue;
    auto& best = era_of(*revision) == Era::modern ? offer.modern : offer.legacy;
    if (!best || *best < *revision) best = revision;
  }
  return offer;
}

// Statuses of whoever stands in front of a server, or of one that is not well: no word on its era.
bool says_nothing(unsigned http_status) {
  switch (http_status) {
    case 401:
    case 403:
    case 407:
    case 429:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return http_status >= 300 && http_status < 400;
  }
}

// Statuses of a server that does not serve this kind of POST at this address.
bool is_refusal(unsigned http_status) {
  return http_status == 400 || http_status == 404 || http_status == 405;
}

std::int64_t code_of(json::Raw error) {
  const auto code = json::find(error, "code");
  return code ? json::as_integer(*code).value_or(0) : 0;
}

// 2026-07-28 basic/transports/streamable-http: -32601 is one only together with 404.
bool is_modern_error(const Handshake::GotError& got) {
  if (!is_refusal(got.http_status)) return false;
  const std::int64_t code = code_of(got.error);
  return code == kHeaderMismatch || code == kMissingClientCapability ||
         code == kUnsupportedProtocolVersion || (code == kMethodNotFound && got.http_status == 404);
}

// "error -32601: Method not found"
std::string describe(json::Raw error) {
  std::string out = "error";
  if (const auto code = json::find(error, "code")) out += ' ' + shown(std::string(*code));
  if (const auto message = json::find_string(error, "message")) out += ": " + shown(*message);
  return out;
}

}  // namespace

Handshake::Handshake(Options options) : options_(std::move(options)) {
  if (options_.client_info.empty()) options_.client_info = kSelf;
  if (options_.client_capabilities.empty()) options_.client_capabilities = "{}";
}

Handshake::Action Handshake::step(const Event& event) {
  switch (state_) {
    case State::idle:
      if (!std::holds_alternative<Start>(event)) break;
      return start();
    case State::discovering:
      return after_discover(event);
    case State::initializing:
      return after_initialize(event);
    case State::opening_stream:
      return after_open_stream(event);
    case State::announcing:
      if (!std::holds_alternative<Sent>(event)) {
        return failed("did not take notifications/initialized");
      }
      state_ = State::ended;
      return Done{facts_};
    case State::ended:
      break;
  }
  return failed(kUnexpected);
}

Handshake::Action Handshake::start() {
  if (options_.only_event_stream) {
    return open_stream(Error("upstream.handshake", "HTTP+SSE is configured"));
  }
  const bool straight_to_legacy =
      options_.protocol == Protocol::legacy ||
      (options_.protocol == Protocol::automatic && options_.known_era == Era::legacy);
  return straight_to_legacy ? initialize() : discover(kLatestModern);
}

Handshake::Action Handshake::discover(Revision revision) {
  state_ = State::discovering;
  offered_ = revision;
  ++discover_attempts_;
  json::ObjectBuilder params;
  params.raw("_meta", modern_meta(revision, options_.client_info, options_.client_capabilities));
  // Where nothing else would be tried, the answer is worth the whole start deadline; a server known
  // to be modern gets it too, as a slow start says nothing about its era.
  const bool is_probe = options_.protocol == Protocol::automatic &&
                        options_.known_era != Era::modern &&
                        !std::exchange(probe_timed_out_, false);
  return SendRequest{std::string(info(Method::server_discover).name), params.take(), is_probe};
}

Handshake::Action Handshake::initialize() {
  state_ = State::initializing;
  initialize_tried_ = true;
  json::ObjectBuilder params;
  // No _meta: servers of both eras take any _meta for the sign of a modern request.
  params.string("protocolVersion", text(kLatestLegacy))
      .raw("capabilities", options_.client_capabilities)
      .raw("clientInfo", options_.client_info);
  return SendRequest{std::string(info(Method::initialize).name), params.take(), false};
}

Handshake::Action Handshake::after_discover(const Event& event) {
  if (const auto* result = std::get_if<GotResult>(&event)) {
    return after_discover_result(result->result);
  }
  if (const auto* error = std::get_if<GotError>(&event)) return after_discover_error(*error);
  if (const auto* refused = std::get_if<Refused>(&event)) {
    const bool final = says_nothing(refused->http_status) || options_.protocol == Protocol::modern;
    if (final) return failed_with(refused->error);
    facts_.era_is_certain = refused->http_status < 500;
    return not_modern("answered server/discover with HTTP " + std::to_string(refused->http_status));
  }
  if (std::holds_alternative<TimedOut>(event)) {
    facts_.era_is_certain = !options_.over_http;
    probe_timed_out_ = true;
    return not_modern("did not answer server/discover");
  }
  return failed(kUnexpected);
}

Handshake::Action Handshake::after_discover_error(const GotError& got) {
  const std::int64_t code = code_of(got.error);
  if (says_nothing(got.http_status)) return inconclusive("server/discover", got);
  if (code == kUnsupportedProtocolVersion) return after_unsupported(got.error);
  if (is_modern_error(got)) {
    if (code != kHeaderMismatch) return assume_modern();
    return failed("answered server/discover with " + describe(got.error),
                  "something between mcpx and the server may drop or change Mcp-* headers");
  }
  facts_.era_is_certain = got.http_status < 500;
  return not_modern("answered server/discover with " + describe(got.error));
}

Handshake::Action Handshake::assume_modern() {
  facts_.revision = offered_;
  facts_.capabilities = kAssumedCapabilities;
  state_ = State::ended;
  return Done{facts_};
}

Handshake::Action Handshake::after_discover_result(json::Raw result) {
  const auto versions = json::find(result, "supportedVersions");
  const Offer offer = read_versions(versions);
  if (!offer.is_list) {
    return not_modern("answered server/discover with something that is no DiscoverResult");
  }
  const auto type = json::find(result, "resultType");
  const bool complete = !type || json::decode_string(*type) == "complete";
  if (!offer.modern || !complete) {
    return not_modern("names only the versions " + shown(std::string(*versions)));
  }
  facts_.revision = *offer.modern;
  facts_.era_is_certain = true;
  facts_.capabilities = object_copy(json::find(result, "capabilities"));
  if (facts_.capabilities.empty()) facts_.capabilities = "{}";
  facts_.server_info = object_copy(json::find(result, "_meta", kMetaServerInfo));
  facts_.instructions = string_token(json::find(result, "instructions"));
  const auto ttl = json::find(result, "ttlMs");
  facts_.ttl_ms = std::max<std::int64_t>(ttl ? json::as_integer(*ttl).value_or(0) : 0, 0);
  facts_.is_private = json::find_string(result, "cacheScope") == "private";
  state_ = State::ended;
  return Done{facts_};
}

Handshake::Action Handshake::after_unsupported(json::Raw error) {
  const auto supported = json::find(error, "data", "supported");
  const Offer offer = read_versions(supported);
  if (offer.modern) {
    if (discover_attempts_ < kDiscoverAttempts) return discover(*offer.modern);
    return failed("refuses protocol version " + std::string(text(offered_)) +
                  " although it lists it as supported");
  }
  if (!offer.is_list || offer.legacy) {
    return not_modern("answered server/discover with " + describe(error));
  }
  // A modern server with versions unknown to us: the specification forbids falling back here.
  return failed("supports only the versions " + shown(raw_copy(supported)),
                "update mcpx, or the server");
}

Handshake::Action Handshake::after_initialize(const Event& event) {
  if (const auto* result = std::get_if<GotResult>(&event)) return accept_initialize(result->result);
  if (const auto* error = std::get_if<GotError>(&event)) return after_initialize_error(*error);
  if (const auto* refused = std::get_if<Refused>(&event)) return after_initialize_refused(*refused);
  if (std::holds_alternative<TimedOut>(event)) return failed("did not answer initialize");
  return failed(kUnexpected);
}

Handshake::Action Handshake::after_initialize_error(const GotError& got) {
  if (says_nothing(got.http_status)) return inconclusive("initialize", got);
  std::string why = "answered initialize with " + describe(got.error);
  const bool may_be_older = is_refusal(got.http_status) && !is_modern_error(got) && !has_stream_;
  if (!may_be_older) return not_legacy(std::move(why));
  return open_stream(Error("upstream.handshake", "the server " + why,
                           "check that the URL is an MCP server, and its own log"));
}

Handshake::Action Handshake::after_initialize_refused(const Refused& refused) {
  if (!is_refusal(refused.http_status) || has_stream_) return failed_with(refused.error);
  return open_stream(refused.error);
}

Handshake::Action Handshake::open_stream(Error refusal) {
  stream_reason_ = std::move(refusal);
  state_ = State::opening_stream;
  return OpenEventStream{};
}

Handshake::Action Handshake::after_open_stream(const Event& event) {
  if (std::holds_alternative<StreamOpened>(event)) {
    has_stream_ = true;
    return initialize();
  }
  const auto* refused = std::get_if<StreamRefused>(&event);
  if (!refused) return failed(kUnexpected);
  if (options_.only_event_stream) return failed_with(refused->error);
  const bool discovers = options_.protocol == Protocol::automatic && discover_attempts_ == 0;
  Error error = stream_reason_;
  error.message += "; it is no HTTP+SSE server either: " + refused->error.message;
  if (discovers) return not_legacy(error.message);
  return failed_with(std::move(error));
}

Handshake::Action Handshake::accept_initialize(json::Raw result) {
  if (!json::is_object(result)) {
    return failed("answered initialize with something that is no object");
  }
  const auto version = json::find_string(result, "protocolVersion");
  if (!version) return failed("answered initialize without protocolVersion");
  const auto revision = parse_revision(*version);
  if (!revision || era_of(*revision) != Era::legacy) {
    return not_legacy("answered initialize with protocol version \"" + shown(*version) +
                      "\", which is none of 2024-11-05 to " + std::string(text(kLatestLegacy)));
  }
  facts_.revision = *revision;
  facts_.capabilities = object_copy(json::find(result, "capabilities"));
  if (facts_.capabilities.empty()) {
    return failed("answered initialize without a capabilities object");
  }
  facts_.server_info = object_copy(json::find(result, "serverInfo"));
  facts_.instructions = string_token(json::find(result, "instructions"));
  state_ = State::announcing;
  return SendNotification{std::string(info(Method::notify_initialized).name)};
}

Handshake::Action Handshake::not_modern(std::string why) {
  if (options_.protocol == Protocol::modern) {
    return failed(std::move(why), "set protocol to automatic if the server is older than " +
                                      std::string(text(kLatestModern)));
  }
  if (initialize_tried_) return failed(discover_refusal_ + "; then " + why);
  discover_refusal_ = std::move(why);
  return initialize();
}

Handshake::Action Handshake::not_legacy(std::string why) {
  if (options_.protocol == Protocol::automatic && discover_attempts_ == 0 && !has_stream_) {
    discover_refusal_ = std::move(why);
    return discover(kLatestModern);
  }
  if (probe_timed_out_ && !has_stream_) {
    discover_refusal_ += "; then " + why;
    return discover(kLatestModern);
  }
  if (!discover_refusal_.empty()) why = discover_refusal_ + "; then " + why;
  return failed(std::move(why));
}

Handshake::Action Handshake::failed(std::string why, std::string remedy) {
  state_ = State::ended;
  if (remedy.empty()) {
    remedy = "check that the command or URL is an MCP server, and its own log";
  }
  return Failed{Error("upstream.handshake", "the server " + std::move(why), std::move(remedy))};
}

Handshake::Action Handshake::failed_with(Error error) {
  state_ = State::ended;
  return Failed{std::move(error)};
}

Handshake::Action Handshake::inconclusive(std::string_view method, const GotError& got) {
  std::string why = "the server answered ";
  why.append(method).append(" with HTTP ").append(std::to_string(got.http_status));
  why += " and " + describe(got.error) + ", which says nothing about its protocol";
  return failed_with(Error("upstream.http_status", std::move(why),
                           "check the url and the credentials of this server, and its own log"));
}

std::string modern_meta(Revision revision, std::string_view client_info,
                        std::string_view client_capabilities) {
  json::ObjectBuilder meta;
  meta.string(kMetaProtocolVersion, text(revision));
  if (!client_info.empty()) meta.raw(kMetaClientInfo, client_info);
  meta.raw(kMetaClientCapabilities, client_capabilities.empty() ? "{}" : client_capabilities);
  return meta.take();
}

}  // namespace mcpx::mcp
