// `auth:`, the static credentials of a server over HTTP. Each kind becomes a header or a part of
// the URL here, so that nothing else needs to know of it.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "config/server_draft.hpp"
#include "config/url_parts.hpp"

namespace mcpx::config {
namespace {

enum Type : std::size_t { bearer, header, basic, query, oauth };
constexpr std::array<std::string_view, 5> kTypes = {"bearer", "header", "basic", "query", "oauth"};

void read_auth_type(Context& context, const Field& field, Auth& auth) {
  auth.type_at = field.at;
  std::size_t index = 0;
  if (!read_choice(context, field, kTypes, index)) return;
  if (index != oauth) {
    auth.type = index;
  } else if (!context.forgive_references) {
    context.problems.add(
        field.value_at(), "'type: oauth' is not there yet: mcpx cannot sign in",
        "use a token that the server gives out: {type: bearer, token: ${env:NAME}}");
  }
}

bool holds_reference(std::string_view text) {
  for (std::size_t at = text.find("${"); at != std::string_view::npos;
       at = text.find("${", at + 2)) {
    if (at == 0 || text[at - 1] != '$') return true;
  }
  return false;
}

template <auto Member>
void read_secret(Context& context, const Field& field, Auth& auth) {
  Auth::Value& out = auth.*Member;
  out.at = field.at;
  read_reference(context, field, out.text);
}

void read_auth_name(Context& context, const Field& field, Auth& auth) {
  auth.name.at = field.at;
  std::string name;
  if (!read_plain_text(context, field, name)) return;
  if (name.empty()) return out_of_range(context, field, "the name of a header or a parameter");
  auth.name.text = std::move(name);
}

constexpr std::array<Key<Auth>, 6> kAuth = {{
    {"type", read_auth_type, "type: bearer"},
    {"token", read_secret<&Auth::token>, "token: ${env:API_TOKEN}"},
    {"name", read_auth_name, "name: X-Api-Key"},
    {"value", read_secret<&Auth::value>, "value: ${env:API_KEY}"},
    {"username", read_secret<&Auth::username>, "username: ${env:API_USER}"},
    {"password", read_secret<&Auth::password>, "password: ${env:API_PASSWORD}"},
}};

// Which keys a type has; it owes them all.
struct Owed {
  std::string_view key;
  Auth::Value Auth::*value;
  std::array<bool, 4> types;  // bearer, header, basic, query
};
constexpr std::array<Owed, 5> kOwed = {
    {{"token", &Auth::token, {true, false, false, false}},
     {"name", &Auth::name, {false, true, false, true}},
     {"value", &Auth::value, {false, true, false, true}},
     {"username", &Auth::username, {false, false, true, false}},
     {"password", &Auth::password, {false, false, true, false}}}};

// Whether the keys of the type were given and can be used.
bool complete(Context& context, const Auth& auth) {
  bool usable = true;
  for (const Owed& owed : kOwed) {
    const Auth::Value& value = auth.*owed.value;
    const bool wanted = owed.types[*auth.type];
    if (wanted && !value.at) {
      context.problems.add(
          *auth.at, fmt::format("'auth' of 'type: {}' lacks '{}'", kTypes[*auth.type], owed.key),
          fmt::format("add '{}'", owed.key));
    } else if (!wanted && value.at) {
      context.problems.add(
          *value.at, fmt::format("'{}' does not go with 'type: {}'", owed.key, kTypes[*auth.type]),
          "remove it, or correct 'type'");
    }
    if (wanted && value.text.empty()) usable = false;  // reported where it was read
  }
  return usable;
}

void add_header(Context& context, ServerDraft& draft, std::string name, std::string value) {
  for (const auto& [present, ignored] : draft.server.headers) {
    if (!same_header(present, name)) continue;
    context.problems.add(
        *draft.auth.at, fmt::format("'auth' sets the header '{}', and 'headers' sets it too", name),
        "keep one of them");
    return;
  }
  draft.server.headers.emplace_back(std::move(name), std::move(value));
}

void apply_bearer(Context& context, ServerDraft& draft) {
  const std::string& token = draft.auth.token.text;
  if (token.find(' ') != std::string::npos) {
    context.problems.add(*draft.auth.token.at, "what 'token' refers to holds a space",
                         "it is the token alone, without 'Bearer' before it");
    return;
  }
  add_header(context, draft, "Authorization", "Bearer " + token);
}

void apply_header(Context& context, ServerDraft& draft) {
  const Auth::Value& name = draft.auth.name;
  std::string_view why;
  if (!is_token(name.text)) why = "is no name of an HTTP header";
  if (is_reserved_header(name.text)) why = "is a header that mcpx sets itself";
  if (!why.empty()) {
    context.problems.add(*name.at, fmt::format("'{}' {}", name.text, why), "correct its spelling");
    return;
  }
  add_secret(context, draft.auth.value.text);
  add_header(context, draft, name.text, draft.auth.value.text);
}

// RFC 7617: the user name ends at the first colon.
void apply_basic(Context& context, ServerDraft& draft) {
  const Auth& auth = draft.auth;
  if (auth.username.text.find(':') != std::string::npos) {
    context.problems.add(*auth.username.at, "what 'username' refers to holds a colon",
                         "Basic credentials cannot carry one in the user name");
    return;
  }
  const std::string credentials = base64(auth.username.text + ':' + auth.password.text);
  add_secret(context, credentials);
  add_header(context, draft, "Authorization", "Basic " + credentials);
}

void apply_query(Context& context, ServerDraft& draft) {
  const Auth& auth = draft.auth;
  std::string& url = draft.server.url;
  if (has_parameter(url, auth.name.text)) {
    context.problems.add(*auth.name.at,
                         fmt::format("'url' has a parameter '{}' already", auth.name.text),
                         "keep one of them");
    return;
  }
  context.warn(*auth.at,
               "a secret in the query of a URL ends up in the logs of the server and of proxies; "
               "'type: bearer' or 'type: header' does not, if the server takes one");
  add_secret(context, auth.value.text);
  add_secret(context, percent_encoded(auth.value.text));
  url = with_parameter(url, auth.name.text, auth.value.text);
}

}  // namespace

// A secret written into the file is a secret in every backup of it, so only references are taken.
bool read_reference(Context& context, const Field& field, std::string& out) {
  if (field.value.kind != Node::Kind::scalar) {
    wrong_type(context, field, "text");
    return false;
  }
  const std::string& raw = field.value.scalar;
  if (!holds_reference(raw)) {
    context.problems.add(
        field.value_at(), fmt::format("'{}' must be a reference, not the value itself", field.name),
        fmt::format("write {}: ${{env:NAME}} or {}: ${{file:PATH}}, with the value "
                    "in that variable or file",
                    field.name, field.name));
    return false;
  }
  Expansion expansion = expand(context, raw, field.value_at(), Secrecy::secret);
  if (!expansion.ok || context.forgive_references) return false;
  std::string_view why;
  if (expansion.text.empty()) why = "is empty";
  if (has_control(expansion.text)) why = "holds a line end or another control character";
  if (!why.empty()) {
    context.problems.add(field.value_at(), fmt::format("what '{}' refers to {}", field.name, why),
                         "correct the variable or the file");
    return false;
  }
  out = std::move(expansion.text);
  return true;
}

void read_auth(Context& context, const Field& field, ServerDraft& draft) {
  if (field.value.kind != Node::Kind::mapping) return wrong_type(context, field, "a mapping");
  draft.auth.at = field.at;
  read_mapping(context, field, std::span<const Key<Auth>>(kAuth), draft.auth);
}

void apply_auth(Context& context, ServerDraft& draft) {
  const Auth& auth = draft.auth;
  if (!auth.at) return;
  if (!draft.url_at) {
    context.problems.add(*auth.at, "'auth' is for a server with 'url'",
                         "give a program its secret in 'env'");
    return;
  }
  if (!auth.type && !auth.type_at) {
    context.problems.add(*auth.at, "'auth' lacks 'type'",
                         "add 'type': bearer, header, basic or query");
  }
  if (!auth.type || !complete(context, auth) || draft.server.url.empty()) return;
  static constexpr std::array<void (*)(Context&, ServerDraft&), 4> kApply = {
      apply_bearer, apply_header, apply_basic, apply_query};
  kApply[*auth.type](context, draft);
}

void add_auth_keys(std::vector<std::string>& out) {
  add_keys(out, "auth.", kAuth);
}

}  // namespace mcpx::config
