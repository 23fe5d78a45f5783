// The /v1 routes over a real registry and scripted servers.
#include "admin/admin.hpp"

#include <string>
#include <vector>

#include "unit/downstream/house.hpp"

namespace mcpx::test {
namespace {

class Desk {
 public:
  explicit Desk(House& house) : house_(house) {
    admin::Facts facts;
    facts.sessions = [] { return std::size_t{2}; };
    facts.listening = [] { return std::vector<std::string>{"127.0.0.1:7332"}; };
    facts.store = [] {
      return store::Status{"/state/mcpx.db", store::State::memory, "no space, says hunter2"};
    };
    facts.reload = [this] { return come_back(); };
    admin_ = std::make_unique<admin::Admin>(
        house.registry(), std::make_shared<const Redactor>(std::vector<std::string>{"hunter2"}),
        std::move(facts));
  }

  Task<std::unique_ptr<FakeExchange>> ask(std::string method, std::string target,
                                          std::string body = std::string()) {
    const FieldList fields = {{"Content-Type", "application/json"}};
    auto exchange = std::make_unique<FakeExchange>(house_.shard(), method, target, fields, body);
    co_await admin_->handle(*exchange);
    REQUIRE(exchange->answers == 1);
    CHECK(exchange->content_type == "application/json");
    CHECK(exchange->body.find("hunter2") == std::string::npos);
    co_return exchange;
  }

  void use(std::shared_ptr<const Redactor> redactor) { admin_->set_redactor(std::move(redactor)); }

  Task<unsigned> status_of_plain_post(std::string target, std::string body) {
    const FieldList fields = {{"Content-Type", "text/plain"}};
    FakeExchange exchange(house_.shard(), "POST", target, fields, body);
    co_await admin_->handle(exchange);
    co_return exchange.status;
  }

  admin::Reloaded reloaded;  // what a reload comes to

 private:
  Task<admin::Reloaded> come_back() { co_return reloaded; }

  House& house_;
  std::unique_ptr<admin::Admin> admin_;
};

Task<void> overview(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Desk desk(house);
  script("alpha").status.state = upstream::State::ready;
  script("alpha").status.children = 2;
  script("beta").status.state = upstream::State::failed;
  script("beta").status.error = Error("upstream.exited", "exit 3, key hunter2", "fix hunter2");
  script("beta").status.stderr_tail = {"using hunter2"};
  script("off").status.state = upstream::State::disabled;

  const auto health = co_await desk.ask("GET", "/v1/health");
  CHECK(health->status == 200);
  CHECK(health->body == R"({"status":"ok","version":")" + std::string(MCPX_VERSION) + R"("})");

  const auto status = co_await desk.ask("GET", "/v1/status");
  INFO(status->body);
  CHECK(json::find(status->body, "servers") ==
        R"({"total":3,"ready":1,"starting":0,"failed":1,"idle":0,"disabled":1})");
  CHECK(json::find(status->body, "listen") == R"(["127.0.0.1:7332"])");
  CHECK(json::find(status->body, "endpoints") == R"(["/mcp","/mcp/alpha","/mcp/beta"])");
  CHECK(json::find(status->body, "sessions") == "2");
  CHECK(json::find(status->body, "connections") == "0");
  CHECK(json::find(status->body, "children") == "2");
  CHECK(json::find(status->body, "store") ==
        R"({"path":"/state/mcpx.db","state":"memory","message":"no space, says [redacted]"})");
  for (const char* key : {"version", "uptime_ms", "pid", "snapshot", "collisions", "warnings"}) {
    CHECK(json::find(status->body, key));
  }

  const auto one = co_await desk.ask("GET", "/v1/servers/beta");
  CHECK(json::find(one->body, "state") == R"("failed")");
  CHECK(json::find(one->body, "error") ==
        R"({"code":"upstream.exited","message":"exit 3, key [redacted]",)"
        R"("remedy":"fix [redacted]"})");
  CHECK(json::find(one->body, "stderr") == R"(["using [redacted]"])");
  CHECK(json::find(one->body, "protocol") == "null");
  const auto all = co_await desk.ask("GET", "/v1/servers");
  CHECK(json::find(all->body, "servers")->find(one->body) != std::string::npos);
  const auto nobody = co_await desk.ask("GET", "/v1/servers/nobody");
  CHECK(nobody->status == 404);
  co_await house.close();
}

TEST_CASE("C71: /v1 shows the state of everything, without secrets") {
  on_shard(overview);
}

Task<void> reloads(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Desk desk(house);
  desk.reloaded.kept = {"alpha", "beta"};
  desk.reloaded.relisted = {"beta"};
  desk.reloaded.restart_needed = {"threads"};
  desk.reloaded.warnings = {"hunter2 is short"};
  const auto done = co_await desk.ask("POST", "/v1/reload");
  CHECK(done->status == 200);
  CHECK(done->body ==
        R"({"kept":["alpha","beta"],"relisted":["beta"],"changed":[],"added":[],"removed":[],)"
        R"("restart_needed":["threads"],"warnings":["[redacted] is short"]})");
  const auto asked = co_await desk.ask("GET", "/v1/reload");
  CHECK(asked->status == 405);

  desk.reloaded.error = Error("config.invalid", "nothing has changed: hunter2", "correct it");
  desk.reloaded.problems = {"mcpx.yaml:1:1: hunter2"};
  const auto wrong = co_await desk.ask("POST", "/v1/reload");
  CHECK(wrong->status == 422);
  CHECK(json::find(wrong->body, "error", "code") == R"("config.invalid")");
  CHECK(json::find(wrong->body, "problems") == R"(["mcpx.yaml:1:1: [redacted]"])");
  desk.reloaded.problems.clear();
  const auto stopping = co_await desk.ask("POST", "/v1/reload");
  CHECK(stopping->status == 503);

  desk.use(std::make_shared<const Redactor>(std::vector<std::string>{"nothing has", "hunter2"}));
  const auto otherwise = co_await desk.ask("POST", "/v1/reload");
  CHECK(json::find(otherwise->body, "error", "message") == R"("[redacted] changed: [redacted]")");
  co_await house.close();
}

TEST_CASE("POST /v1/reload says what became of each server, or why nothing did") {
  on_shard(reloads);
}

Task<void> tools(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Desk desk(house);
  const auto all = co_await desk.ask("GET", "/v1/tools");
  std::vector<std::string> names;
  json::Elements rows(json::find(all->body, "tools").value_or("[]"));
  while (const auto row = rows.next()) {
    names.push_back(json::find_string(*row, "name").value_or(""));
    CHECK(json::find(*row, "definition", "inputSchema"));
  }
  CHECK(names == std::vector<std::string>{"alpha__echo", "alpha__add", "beta__echo"});
  const auto some = co_await desk.ask("GET", "/v1/tools?x=1&server=beta");
  CHECK(some->body.find("alpha") == std::string::npos);
  CHECK(some->body.find(R"("original":"echo")") != std::string::npos);
  const auto none = co_await desk.ask("GET", "/v1/tools?server=nobody");
  CHECK(none->status == 404);
  co_await house.close();
}

TEST_CASE("/v1/tools lists what /mcp shows") {
  on_shard(tools);
}

Task<call::Outcome> refuse_call(const call::Call&) {
  co_return call::Outcome::of_error(R"({"code":-32602,"message":"no hunter2"})",
                                    mcp::kLatestLegacy);
}

Task<void> calling(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Desk desk(house);
  const auto result =
      co_await desk.ask("POST", "/v1/tools/alpha__echo/call", R"({"arguments":{"n":1.0}})");
  CHECK(result->status == 200);
  CHECK(result->body == R"({"result":{"content":[{"type":"text","text":"alpha"}]}})");
  CHECK(script("alpha").last_params == R"({"name":"echo","arguments":{"n":1.0}})");

  const auto bare = co_await desk.ask("POST", "/v1/tools/alpha%5F_echo/call");
  CHECK(bare->status == 200);
  CHECK(script("alpha").last_params == R"({"name":"echo","arguments":{}})");

  script("alpha").call = refuse_call;
  const auto failed = co_await desk.ask("POST", "/v1/tools/alpha__echo/call", "{}");
  CHECK(failed->status == 502);
  CHECK(json::find(failed->body, "error", "code") == R"("upstream.rpc_error")");

  const auto unknown = co_await desk.ask("POST", "/v1/tools/nope/call", "{}");
  CHECK(unknown->status == 404);
  for (const char* body : {"{", R"({"arguments":[]})", "[]", "7"}) {
    INFO(body);
    const auto bad = co_await desk.ask("POST", "/v1/tools/alpha__echo/call", body);
    CHECK(bad->status == 400);
  }
  const unsigned plain = co_await desk.status_of_plain_post("/v1/tools/alpha__echo/call", "{}");
  CHECK(plain == 415);
  co_await house.close();
}

TEST_CASE("a tool is called by hand, with its errors told apart") {
  on_shard(calling);
}

Task<void> routes(runtime::Shard& shard) {
  House house(shard);
  co_await house.open();
  Desk desk(house);
  for (const char* path : {"/v1", "/v1/", "/v1/nothing", "/v1/servers/", "/v1/tools/x", "/v2"}) {
    INFO(path);
    const auto missing = co_await desk.ask("GET", path);
    CHECK(missing->status == 404);
    CHECK(json::find(missing->body, "error", "remedy"));
  }
  const auto get = co_await desk.ask("GET", "/v1/tools/alpha__echo/call");
  CHECK(get->status == 405);
  CHECK(get->field("Allow") == "POST");
  const auto post = co_await desk.ask("POST", "/v1/status");
  CHECK(post->status == 405);
  CHECK(post->field("Allow") == "GET");
  co_await house.close();
}

TEST_CASE("what is not a route of /v1 is 404 or 405 in JSON") {
  on_shard(routes);
}

}  // namespace
}  // namespace mcpx::test
