// A server of the configuration while it is read: what was said, and where; and the readers of its
// keys, by what they are about. Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.hpp"

namespace mcpx::config {

// `proxy:`, resolved when the address of the server is known.
struct ProxyChoice {
  enum class Kind { off, environment, fixed };
  Kind kind = Kind::off;
  std::string url;  // fixed: normalised
  Position at;
};

// `auth:`, turned into a header or a part of the URL when all of the server is known.
struct Auth {
  struct Value {
    std::optional<Position> at;  // of the key, when it was given
    std::string text;            // empty when it was refused
  };
  std::optional<Position> at;       // of `auth`, when it was given
  std::optional<std::size_t> type;  // into the forms of auth.cpp
  std::optional<Position> type_at;
  Value token, name, value, username, password;
};

struct ServerDraft {
  Server server;
  Position at;  // of its name
  std::optional<Position> command_at, url_at, enabled_at, disabled_at, stdio_only_at, http_only_at;
  std::optional<Position> instances_at, call_timeout_max_at, tls_at, protocol_at;
  std::string_view stdio_only, http_only;  // the last key that only that transport has
  std::optional<std::string> type;
  Position type_at;
  Auth auth;
  std::optional<ProxyChoice> proxy;        // else that of the file
  std::optional<std::vector<Root>> roots;  // else those of the file
};

// Marks a key that only servers with `command`, or with `url`, have any use for.
void stdio_only(const Field& field, ServerDraft& draft);
void http_only(const Field& field, ServerDraft& draft);

// How it is run (command_keys.cpp).
void read_command(Context& context, const Field& field, ServerDraft& draft);
void read_args(Context& context, const Field& field, ServerDraft& draft);
void read_env(Context& context, const Field& field, ServerDraft& draft);
void read_inherit_env(Context& context, const Field& field, ServerDraft& draft);
void read_cwd(Context& context, const Field& field, ServerDraft& draft);

// How it is reached (url_keys.cpp, auth.cpp).
void read_url(Context& context, const Field& field, ServerDraft& draft);
void read_headers(Context& context, const Field& field, ServerDraft& draft);
void read_tls(Context& context, const Field& field, ServerDraft& draft);
void read_proxy(Context& context, const Field& field, std::optional<ProxyChoice>& out);
void read_auth(Context& context, const Field& field, ServerDraft& draft);
// A secret, which has to be a reference: false (reported, or forgiven) when `out` was left alone.
bool read_reference(Context& context, const Field& field, std::string& out);
// Makes a path of the file's directory out of a relative one, and reports what cannot be read.
void check_file(Context& context, std::string_view name, Position at, std::string& path);
// `cert` and `key` of a mapping belong together.
void check_pair(Context& context, const Field& field, const std::string& cert,
                const std::string& key);
bool is_token(std::string_view name);            // of an HTTP header
bool is_reserved_header(std::string_view name);  // the connection or the protocol sets it
bool same_header(std::string_view a, std::string_view b);
bool has_control(std::string_view text);
void check_tls(Context& context, const ServerDraft& draft);
void apply_auth(Context& context, ServerDraft& draft);
void apply_proxy(Context& context, const ProxyChoice& choice, Server& server);

// How it is cared for (care_keys.cpp).
void read_tools(Context& context, const Field& field, ServerDraft& draft);
void read_scope(Context& context, const Field& field, ServerDraft& draft);
void read_instances(Context& context, const Field& field, ServerDraft& draft);
void read_breaker(Context& context, const Field& field, ServerDraft& draft);
void read_idle_stop(Context& context, const Field& field, ServerDraft& draft);
void read_roots(Context& context, const Field& field, std::optional<std::vector<Root>>& out);
void check_care(Context& context, ServerDraft& draft);

// The keys inside those mappings: "tls.ca".
void add_url_keys(std::vector<std::string>& out);
void add_auth_keys(std::vector<std::string>& out);
void add_care_keys(std::vector<std::string>& out);

template <class Target, std::size_t N>
void add_keys(std::vector<std::string>& out, std::string_view prefix,
              const std::array<Key<Target>, N>& table) {
  for (const Key<Target>& key : table)
    out.push_back(std::string(prefix) + std::string(key.name));
}

}  // namespace mcpx::config
