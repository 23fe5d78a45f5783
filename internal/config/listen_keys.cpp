// Who may come in, over what, and how long they may take: the mappings inside `listen:`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "config/keys.hpp"
#include "config/values.hpp"

namespace mcpx::config {
namespace {

// 16 random bytes in hexadecimal have 32, in Base64 22; below that a token can be guessed.
constexpr std::size_t kShortestToken = 20;
constexpr std::size_t kDigestDigits = 64;

struct TokenDraft {
  Token token;
  std::optional<Position> sha256_at, secret_at;
  std::map<std::string, Position>* endpoints = nullptr;
};

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

void read_sha256(Context& context, const Field& field, TokenDraft& draft) {
  draft.sha256_at = field.at;
  const std::string& text = field.value.scalar;
  const bool digest = field.value.kind == Node::Kind::scalar && text.size() == kDigestDigits &&
                      text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!digest) {
    // Not shown: it may be the token itself.
    context.problems.add(field.value_at(), "'sha256' is not 64 lower-case hexadecimal digits",
                         "write the digest that 'mcpx token new NAME' prints, not the token");
    return;
  }
  draft.token.sha256 = text;
}

void read_secret_token(Context& context, const Field& field, TokenDraft& draft) {
  draft.secret_at = field.at;
  std::string secret;
  if (!read_reference(context, field, secret)) return;
  const bool plain = std::all_of(secret.begin(), secret.end(),
                                 [](char c) { return c > 0x20 && c < 0x7f && c != ','; });
  if (!plain || secret.size() < kShortestToken) {
    context.problems.add(
        field.value_at(),
        plain ? fmt::format("what 'token' refers to is shorter than {} characters", kShortestToken)
              : std::string("what 'token' refers to holds a space, a comma or no ASCII"),
        "take what 'mcpx token new NAME' prints, or 'openssl rand -hex 32'");
    return;
  }
  draft.token.sha256 = sha256_hex(secret);
}

void read_endpoints(Context& context, const Field& field, TokenDraft& draft) {
  std::vector<std::string> endpoints;
  read_list(context, field, endpoints);
  if (endpoints.empty()) {
    return out_of_range(context, field, "a list of endpoints, or absent for all of them");
  }
  for (const std::string& endpoint : endpoints)
    draft.endpoints->emplace(endpoint, field.value.at);
  draft.token.endpoints = std::move(endpoints);
}

void read_admin(Context& context, const Field& field, TokenDraft& draft) {
  read_bool(context, field, draft.token.admin);
}

constexpr std::array<Key<TokenDraft>, 4> kToken = {{
    {"sha256", read_sha256, "sha256: \"...\""},
    {"token", read_secret_token, "token: ${env:MCPX_TOKEN}"},
    {"endpoints", read_endpoints, "endpoints: [/mcp, /mcp/files]"},
    {"admin", read_admin, "admin: true"},
}};

void read_min_version(Context& context, const Field& field, ListenTls& tls) {
  static constexpr std::array<std::string_view, 2> kVersions = {"1.2", "1.3"};
  std::size_t index = 0;
  if (read_choice(context, field, kVersions, index)) tls.only_tls13 = index == 1;
}

constexpr std::array<Key<ListenTls>, 3> kTls = {{
    {"cert", place_key<&ListenTls::cert>, "cert: server.pem"},
    {"key", place_key<&ListenTls::key>, "key: server.key"},
    {"min_version", read_min_version, "min_version: \"1.2\""},
}};

constexpr std::array<Key<ListenTimeouts>, 5> kTimeouts = {{
    {"handshake", duration_key<&ListenTimeouts::handshake, 1>, "handshake: 10s"},
    {"head", duration_key<&ListenTimeouts::head, 1>, "head: 10s"},
    {"body", duration_key<&ListenTimeouts::body, 1>, "body: 30s"},
    {"idle", duration_key<&ListenTimeouts::idle, 1>, "idle: 2m"},
    {"write", duration_key<&ListenTimeouts::write, 1>, "write: 30s"},
}};

void read_one_token(Context& context, const Field& field, ListenDraft& listen) {
  if (!is_name(field.name)) {
    context.problems.add(field.at, fmt::format("'{}' cannot name a token", field.name),
                         "use 1 to 64 characters of A-Z a-z 0-9 _ -");
    return;
  }
  TokenDraft draft;
  draft.token.name = std::string(field.name);
  draft.endpoints = &listen.endpoints;
  read_mapping(context, field, std::span<const Key<TokenDraft>>(kToken), draft);
  if (draft.sha256_at.has_value() == draft.secret_at.has_value()) {
    context.problems.add(
        field.at,
        fmt::format("the token '{}' has {} of 'sha256' and 'token'", field.name,
                    draft.sha256_at ? "both" : "neither"),
        "keep the digest that 'mcpx token new NAME' prints, or a reference to the token");
    return;
  }
  for (const Token& other : listen.tokens) {
    if (other.sha256 != draft.token.sha256 || other.sha256.empty()) continue;
    context.problems.add(
        field.at, fmt::format("the tokens '{}' and '{}' are the same", other.name, field.name),
        "make another one with 'mcpx token new NAME'");
    return;
  }
  listen.tokens.push_back(std::move(draft.token));
}

bool known_endpoint(const Config& config, std::string_view path) {
  constexpr std::string_view kRoot = "/mcp";
  if (path.substr(0, kRoot.size()) != kRoot) return false;
  path.remove_prefix(kRoot.size());
  if (path.empty()) return true;
  if (path.front() != '/') return false;
  path.remove_prefix(1);
  return std::any_of(config.servers.begin(), config.servers.end(),
                     [path](const Server& server) { return server.name == path; });
}

}  // namespace

void read_tokens(Context& context, const Field& field, ListenDraft& listen) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    read_one_token(context, {entry.key, field.example, entry.at, *entry.value}, listen);
  }
}

void read_listen_tls(Context& context, const Field& field, ListenDraft& listen) {
  ListenTls& tls = listen.tls;
  read_mapping(context, field, std::span<const Key<ListenTls>>(kTls), tls);
  const auto at = [&field](std::string_view key) {
    const Node::Entry* entry = field.value.find(key);
    return entry == nullptr ? field.at : entry->value->at;
  };
  check_file(context, "cert", at("cert"), tls.cert);
  check_file(context, "key", at("key"), tls.key);
  check_pair(context, field, tls.cert, tls.key);
}

void read_listen_timeouts(Context& context, const Field& field, ListenDraft& listen) {
  read_mapping(context, field, std::span<const Key<ListenTimeouts>>(kTimeouts), listen.timeouts);
}

void check_listen(Context& context, Draft& draft) {
  const ListenDraft& listen = draft.listen;
  for (const auto& [endpoint, at] : listen.endpoints) {
    if (known_endpoint(draft.config, endpoint)) continue;
    context.problems.add(
        at, fmt::format("a token names the endpoint '{}', which is not there", endpoint),
        "write /mcp, or /mcp/NAME with the name of a server");
  }
  if (listen.http_enabled && listen.open_at && listen.tokens.empty()) {
    context.problems.add(
        *listen.open_at,
        fmt::format("other machines may reach {}, and no token is asked of them", listen.http_host),
        "make one with 'mcpx token new NAME' and add it to listen.tokens, or "
        "listen on 127.0.0.1");
  } else if (listen.http_enabled && listen.open_at && !listen.tls.enabled()) {
    context.warn(*listen.open_at,
                 fmt::format("mcpx listens on {} without TLS: whoever is on the way reads the "
                             "tokens; set listen.tls, or put a proxy with TLS before it",
                             listen.http_host));
  }
  draft.config.listen = listen;
}

void add_listen_keys(std::vector<std::string>& out) {
  add_keys(out, "listen.tokens.NAME.", kToken);
  add_keys(out, "listen.tls.", kTls);
  add_keys(out, "listen.timeouts.", kTimeouts);
}

}  // namespace mcpx::config
