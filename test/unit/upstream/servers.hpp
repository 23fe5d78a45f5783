// Servers to start, and how to call and watch them: for the tests of Server.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/self.hpp"
#include "runtime/timer.hpp"
#include "upstream/server.hpp"

namespace mcpx::test {

using upstream::Environment;
using upstream::Server;
using upstream::State;
using upstream::Status;

inline config::Server demo(const std::string& era) {
  config::Server config;
  config.name = "demo";
  config.command = MCPX_DEMO_SERVER;
  config.args = {"--era", era};
  return config;
}

inline config::Server shell(const std::string& script) {
  config::Server config;
  config.name = "odd";
  config.command = "/bin/sh";
  config.args = {"-c", script};
  config.stop_grace = Milliseconds(50);
  return config;
}

inline Environment environment_on(runtime::Shard& shard) {
  Environment environment;
  environment.supervisor = MCPX_SUPERVISOR;
  environment.client_info = mcp::kSelf;
  environment.shards = {&shard};
  return environment;
}

inline call::Call call_of(runtime::Shard& shard, std::string_view params) {
  call::Call call;
  call.method = mcp::Method::tools_call;
  call.method_name = "tools/call";
  call.params = params;
  call.caller.shard = &shard;
  return call;
}

inline constexpr std::string_view kEcho = R"({"name":"echo","arguments":{"text":"hello"}})";

inline std::string code_of(const call::Outcome& outcome) {
  return json::find_string(json::find(outcome.error, "data").value_or("{}"), "code").value_or("");
}

inline Task<void> call_into(Server& server, const call::Call& call, call::Outcome& outcome) {
  outcome = co_await server.call(call);
}

// Polls a condition of the server until it holds; the test's own time limit bounds it.
inline Task<Status> until(runtime::Shard& shard, Server& server,
                          std::function<bool(const Status&)> condition) {
  runtime::Timer timer(shard);
  while (true) {
    Status status = co_await server.status();
    if (condition(status)) co_return status;
    co_await timer.sleep_for(Milliseconds(2));
  }
}

inline bool is_ready(const Status& status) {
  return status.state == State::ready;
}
inline bool is_failed(const Status& status) {
  return status.state == State::failed;
}

inline Task<void> end(Server& server) {
  return server.stop(Clock::now() + Milliseconds(2000));
}

// A legacy server in four lines of shell; the tool "crash" ends it.
inline constexpr const char* kShellServer = R"sh(
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *crash*) exit 9 ;;
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"tools/list"'*) r='{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) r='{"content":[]}' ;;
    *notifications/*) continue ;;
    *) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}'; continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$r'}'
done
)sh";

}  // namespace mcpx::test
