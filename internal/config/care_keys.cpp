// The keys that say how a server is cared for: what is offered of it, how many instances it may
// have, how long things may take, and which directories it is told of.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "config/server_draft.hpp"
#include "config/url_parts.hpp"

namespace mcpx::config {
namespace {

void read_tool_timeouts(Context& context, const Field& field, Server& server) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    const Field one = {entry.key, field.example, entry.at, *entry.value};
    Milliseconds time{0};
    read_duration(context, one, Milliseconds{1}, time);
    if (time.count() > 0) server.tool_timeouts.emplace_back(entry.key, time);
  }
}

constexpr std::array<Key<Server>, 3> kTools = {{
    {"allow", list_key<&Server::tools_allow>, "allow: [\"read_*\"]"},
    {"deny", list_key<&Server::tools_deny>, "deny: [\"delete_*\"]"},
    {"timeouts", read_tool_timeouts, "timeouts: {\"build_*\": 10m}"},
}};

constexpr std::array<Key<Server>, 1> kInstances = {{
    {"max", integer_key<&Server::instances_max, 1, 1000>, "max: 8"},
}};

constexpr std::array<Key<Server>, 2> kBreaker = {{
    {"failures", integer_key<&Server::breaker_failures, 0, 1000>, "failures: 5"},
    {"cooldown", duration_key<&Server::breaker_cooldown, 1>, "cooldown: 15s"},
}};

// What one item of `roots` says: a path, a URI, or {uri, name}.
struct RootDraft {
  std::string place, name;
};
constexpr std::array<Key<RootDraft>, 2> kRootKeys = {{
    {"uri", place_key<&RootDraft::place>, "uri: file:///srv/project"},
    {"name", text_key<&RootDraft::name>, "name: project"},
}};

bool climbs(std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (path.substr(0, slash) == "..") return true;
    path.remove_prefix(std::min(path.size(), slash + 1));
  }
  return false;
}

// The file URI of a root, or what is wrong with it.
struct RootUri {
  std::string uri;
  std::string_view problem;
};
RootUri root_uri(std::string_view place) {
  static constexpr std::string_view kScheme = "file://";
  if (place.substr(0, 1) == "/") {
    if (climbs(place)) return {{}, "holds '..'"};
    return {std::string(kScheme) + percent_encoded(place, "/"), {}};
  }
  if (place.substr(0, kScheme.size()) != kScheme) {
    return {{}, "is neither an absolute path nor a file:// URI"};
  }
  const std::string_view path = place.substr(kScheme.size());
  if (path.empty() || path.front() != '/') return {{}, "names a host, or no absolute path"};
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '?' && c != '#';
  });
  if (!plain) return {{}, "holds a character that a file URI spells as %XX"};
  const std::string decoded = percent_decoded(path);
  if (climbs(decoded)) return {{}, "holds '..'"};
  if (decoded.find('\0') != std::string::npos) return {{}, "holds a NUL character"};
  return {std::string(place), {}};
}

void read_one_root(Context& context, const Field& field, std::vector<Root>& out) {
  RootDraft draft;
  if (field.value.kind == Node::Kind::mapping) {
    read_mapping(context, field, std::span<const Key<RootDraft>>(kRootKeys), draft);
    if (field.value.find("uri") == nullptr) {
      context.problems.add(field.at, "a root without 'uri'", "add 'uri: file:///PATH'");
    }
  } else if (!read_text(context, field, Secrecy::place, draft.place)) {
    return;
  }
  if (draft.place.empty()) return;
  RootUri root = root_uri(draft.place);
  if (root.problem.empty()) {
    out.push_back({std::move(root.uri), std::move(draft.name)});
  } else if (!context.forgive_references) {
    context.problems.add(field.at, fmt::format("the root '{}' {}", draft.place, root.problem),
                         "write for example: roots: [/srv/project]");
  }
}

}  // namespace

void read_tools(Context& context, const Field& field, ServerDraft& draft) {
  read_mapping(context, field, std::span<const Key<Server>>(kTools), draft.server);
}

void read_scope(Context& context, const Field& field, ServerDraft& draft) {
  static constexpr std::array<std::string_view, 2> kScopes = {"shared", "session"};
  std::size_t index = 0;
  if (read_choice(context, field, kScopes, index)) draft.server.scope = static_cast<Scope>(index);
}

void read_instances(Context& context, const Field& field, ServerDraft& draft) {
  draft.instances_at = field.at;
  read_mapping(context, field, std::span<const Key<Server>>(kInstances), draft.server);
}

void read_breaker(Context& context, const Field& field, ServerDraft& draft) {
  read_mapping(context, field, std::span<const Key<Server>>(kBreaker), draft.server);
}

void read_idle_stop(Context& context, const Field& field, ServerDraft& draft) {
  if (field.value.kind == Node::Kind::scalar && field.value.scalar == "off") {
    draft.server.idle_stop.reset();
    return;
  }
  Milliseconds time{0};
  read_duration(context, field, Milliseconds{1'000}, time);
  if (time.count() > 0) draft.server.idle_stop = time;
}

void read_roots(Context& context, const Field& field, std::optional<std::vector<Root>>& out) {
  if (field.value.kind == Node::Kind::null) return;
  if (field.value.kind != Node::Kind::list) return wrong_type(context, field, "a list");
  std::vector<Root> roots;
  for (const NodePtr& item : field.value.items) {
    const Position at = item->kind == Node::Kind::null ? field.at : item->at;
    read_one_root(context, {field.name, field.example, at, *item}, roots);
  }
  out = std::move(roots);
}

void check_care(Context& context, ServerDraft& draft) {
  Server& server = draft.server;
  if (server.scope == Scope::session && server.instances_max < 2) {
    context.problems.add(
        draft.instances_at.value_or(draft.at),
        "'scope: session' needs 'instances: {max: 2}' at least: one instance reads "
        "the lists, and each session has its own besides",
        "raise 'instances.max', or remove 'scope'");
  }
  Milliseconds longest = server.call_timeout;
  for (const auto& [pattern, time] : server.tool_timeouts)
    longest = std::max(longest, time);
  if (!draft.call_timeout_max_at) {
    server.call_timeout_max = std::max(server.call_timeout_max, longest);
  } else if (server.call_timeout_max < longest) {
    context.problems.add(*draft.call_timeout_max_at,
                         "'call_timeout_max' is below 'call_timeout' or one of 'tools.timeouts'",
                         "raise it: progress may extend a call, never shorten it");
  }
}

void add_care_keys(std::vector<std::string>& out) {
  add_keys(out, "tools.", kTools);
  add_keys(out, "instances.", kInstances);
  add_keys(out, "breaker.", kBreaker);
}

}  // namespace mcpx::config
