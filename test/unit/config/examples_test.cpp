// The example configurations load, and the documentation knows every key.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include "config/keys.hpp"
#include "config/values.hpp"
#include "unit/config/load.hpp"

namespace mcpx::config {
namespace {

using test::environment_of;
using test::problems_of;

const std::string kSource = MCPX_SOURCE_DIR;

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(stream.good());
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

Environment example_environment() {
  return environment_of({{"MCPX_DEMO_SERVER", "/usr/bin/mcpx-demo-server"},
                         {"HOME", "/home/me"},
                         {"XDG_RUNTIME_DIR", "/run/user/1000"},
                         {"EXAMPLE_TOKEN", "example-token"}});
}

TEST_CASE("C75: every file in configs/ loads") {
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSource + "/configs")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".yaml" && extension != ".json") continue;
    ++seen;
    DYNAMIC_SECTION(entry.path().filename().string()) {
      const auto result = load_file(entry.path().string(), example_environment());
      INFO(problems_of(result));
      REQUIRE(result.has_value());
      CHECK_FALSE(result->servers.empty());
    }
  }
  CHECK(seen >= 7);
}

TEST_CASE("full.yaml spells out the defaults") {
  const auto full = load_file(kSource + "/configs/full.yaml", example_environment());
  INFO(problems_of(full));
  REQUIRE(full.has_value());
  const Config plain;
  CHECK(full->listen.http_host == plain.listen.http_host);
  CHECK(full->listen.http_port == plain.listen.http_port);
  CHECK(full->limits.body_bytes == plain.limits.body_bytes);
  CHECK(full->limits.message_bytes == plain.limits.message_bytes);
  CHECK(full->limits.bodies_bytes == plain.limits.bodies_bytes);
  CHECK(full->limits.head_bytes == plain.limits.head_bytes);
  CHECK(full->limits.header_fields == plain.limits.header_fields);
  CHECK(full->limits.json_depth == plain.limits.json_depth);
  CHECK(full->limits.connections == plain.limits.connections);
  CHECK(full->limits.requests == plain.limits.requests);
  CHECK(full->limits.requests_per_second == plain.limits.requests_per_second);
  CHECK(full->limits.request_burst == plain.limits.request_burst);
  CHECK(full->listen.timeouts.handshake == plain.listen.timeouts.handshake);
  CHECK(full->listen.timeouts.head == plain.listen.timeouts.head);
  CHECK(full->listen.timeouts.body == plain.listen.timeouts.body);
  CHECK(full->listen.timeouts.idle == plain.listen.timeouts.idle);
  CHECK(full->listen.timeouts.write == plain.listen.timeouts.write);
  CHECK(full->listen.tokens.empty());
  CHECK_FALSE(full->listen.tls.enabled());
  CHECK(full->limits.sessions == plain.limits.sessions);
  CHECK(full->limits.calls_per_server == plain.limits.calls_per_server);
  CHECK(full->limits.stderr_bytes == plain.limits.stderr_bytes);
  CHECK(full->threads == plain.threads);
  CHECK(full->log_level == plain.log_level);
  CHECK(full->log_format == plain.log_format);
  CHECK(full->names_max == plain.names_max);
  CHECK(full->ready_wait == plain.ready_wait);
  CHECK(full->reload_grace == plain.reload_grace);
  CHECK(full->shutdown_grace == plain.shutdown_grace);
  CHECK(full->starts_at_once == plain.starts_at_once);
  CHECK(full->state_dir == load_text("", "mcpx.yaml", example_environment())->state_dir);
  const Server defaults;
  REQUIRE_FALSE(full->servers.empty());
  const Server& one = full->servers[0];
  CHECK(one.enabled == defaults.enabled);
  CHECK(one.protocol == defaults.protocol);
  CHECK(one.start_timeout == defaults.start_timeout);
  CHECK(one.probe_timeout == defaults.probe_timeout);
  CHECK(one.call_timeout == defaults.call_timeout);
  CHECK(one.list_timeout == defaults.list_timeout);
  CHECK(one.stop_grace == defaults.stop_grace);
  CHECK_FALSE(one.idle_stop.has_value());
  CHECK(one.scope == defaults.scope);
  CHECK(one.instances_max == defaults.instances_max);
  CHECK(one.call_timeout_max == defaults.call_timeout_max);
  CHECK(one.breaker_failures == defaults.breaker_failures);
  CHECK(one.breaker_cooldown == defaults.breaker_cooldown);
  CHECK(one.roots.empty());
  CHECK(full->servers[1].proxy.empty());
}

TEST_CASE("every key is documented, and occurs in full.yaml") {
  const std::string documentation = read(kSource + "/docs/configuration.md");
  const std::string full = read(kSource + "/configs/full.yaml");
  for (const std::string& key : known_keys()) {
    INFO(key);
    CHECK(documentation.find("`" + key + "`") != std::string::npos);
    CHECK(full.find(key.substr(key.rfind('.') + 1) + ":") != std::string::npos);
  }
}

// The cell of the default in the row of `key`, without its quotes.
std::string documented_default(const std::string& documentation, const std::string& key) {
  const std::size_t row = documentation.find("\n| `" + key + "` |");
  REQUIRE(row != std::string::npos);
  std::size_t cell = row;
  for (int i = 0; i < 3; ++i)
    cell = documentation.find('|', cell + 1);
  const std::size_t end = documentation.find('|', cell + 1);
  std::string text = documentation.substr(cell + 1, end - cell - 1);
  std::erase_if(text, [](char c) { return c == ' ' || c == '`'; });
  return text;
}

TEST_CASE("the documented defaults are those of the code") {
  const std::string documentation = read(kSource + "/docs/configuration.md");
  const Config config;
  const Server server;
  const Limits limits;
  const std::map<std::string, Milliseconds> durations = {
      {"ready_wait", config.ready_wait},
      {"reload_grace", config.reload_grace},
      {"listen.timeouts.handshake", config.listen.timeouts.handshake},
      {"listen.timeouts.head", config.listen.timeouts.head},
      {"listen.timeouts.body", config.listen.timeouts.body},
      {"listen.timeouts.idle", config.listen.timeouts.idle},
      {"listen.timeouts.write", config.listen.timeouts.write},
      {"shutdown_grace", config.shutdown_grace},
      {"servers.NAME.start_timeout", server.start_timeout},
      {"servers.NAME.probe_timeout", server.probe_timeout},
      {"servers.NAME.call_timeout", server.call_timeout},
      {"servers.NAME.call_timeout_max", server.call_timeout_max},
      {"servers.NAME.list_timeout", server.list_timeout},
      {"servers.NAME.stop_grace", server.stop_grace},
      {"servers.NAME.breaker.cooldown", server.breaker_cooldown},
  };
  for (const auto& [key, value] : durations) {
    INFO(key);
    CHECK(parse_duration(documented_default(documentation, key)) == std::optional(value));
  }
  const std::map<std::string, std::size_t> numbers = {
      {"limits.body", limits.body_bytes},
      {"limits.message", limits.message_bytes},
      {"limits.bodies", limits.bodies_bytes},
      {"limits.head", limits.head_bytes},
      {"limits.headers", limits.header_fields},
      {"limits.requests", limits.requests},
      {"limits.requests_per_second", limits.requests_per_second},
      {"limits.request_burst", limits.request_burst},
      {"limits.json_depth", limits.json_depth},
      {"limits.connections", limits.connections},
      {"limits.sessions", limits.sessions},
      {"limits.calls_per_server", limits.calls_per_server},
      {"limits.stderr", limits.stderr_bytes},
      {"threads", config.threads},
      {"names.max", config.names_max},
      {"starts_at_once", config.starts_at_once},
      {"servers.NAME.instances.max", server.instances_max},
      {"servers.NAME.breaker.failures", server.breaker_failures},
  };
  for (const auto& [key, value] : numbers) {
    INFO(key);
    CHECK(parse_size(documented_default(documentation, key)) ==
          std::optional(std::uint64_t{value}));
  }
}

}  // namespace
}  // namespace mcpx::config
