#include "upstream/questions.hpp"

#include <catch2/catch.hpp>

using namespace mcpx;
using namespace mcpx::upstream;

namespace {

rpc::Message request(const std::string& method) {
  auto parsed = rpc::parse(
      PaddedBuffer(R"({"jsonrpc":"2.0","id":"q-1","method":")" + method + "\"}"), json::Limits());
  REQUIRE(parsed.has_value());
  return std::move(*parsed);
}

std::string answer(const std::string& method, const std::vector<config::Root>& roots) {
  std::string out;
  append_answer(out, request(method), roots);
  return out;
}

const std::vector<config::Root> kRoots = {{"file:///srv/a", "a"}, {"file:///srv/b%20c", ""}};

}  // namespace

TEST_CASE("a ping is answered with an empty result",
          "[req:ping-receiver-responds-promptly-empty]") {
  CHECK(answer("ping", {}) == R"({"jsonrpc":"2.0","id":"q-1","result":{}})");
}

TEST_CASE("roots of the configuration are listed") {
  CHECK(answer("roots/list", kRoots) ==
        R"({"jsonrpc":"2.0","id":"q-1","result":{"roots":[)"
        R"({"uri":"file:///srv/a","name":"a"},{"uri":"file:///srv/b%20c"}]}})");
}

TEST_CASE("what was not declared is refused at once") {
  for (const char* method :
       {"roots/list", "elicitation/create", "sampling/createMessage", "vendor/anything"}) {
    CHECK(answer(method, {}).find("-32601") != std::string::npos);
  }
}

TEST_CASE("only what is asked on behalf of a call belongs to one") {
  CHECK(belongs_to_a_call("elicitation/create", kRoots));
  CHECK(belongs_to_a_call("sampling/createMessage", kRoots));
  CHECK(belongs_to_a_call("roots/list", {}));
  CHECK_FALSE(belongs_to_a_call("roots/list", kRoots));
  CHECK_FALSE(belongs_to_a_call("ping", {}));
}

TEST_CASE("roots of the configuration stand before a caller's own") {
  config::Server server;
  const mcp::Askable all = 0x7f;
  CHECK(declared_for(server, 0) == 0);
  CHECK(declared_for(server, all) == (all & ~mcp::kAskRootsChanges));
  server.scope = config::Scope::session;
  CHECK(declared_for(server, all) == all);
  server.roots = kRoots;
  CHECK(declared_for(server, 0) == mcp::kAskRoots);
  CHECK(declared_for(server, all) == (all & ~mcp::kAskRootsChanges));
}

TEST_CASE("C54: a question that could be of several calls is answered for nobody") {
  const std::string text = unattributed_answer(request("elicitation/create"), 2);
  CHECK(text == R"({"jsonrpc":"2.0","id":"q-1","result":{"action":"cancel"}})");
  CHECK(unattributed_answer(request("roots/list"), 2).find("-32603") != std::string::npos);
  CHECK(unattributed_answer(request("sampling/createMessage"), 0).find("no call is in progress") !=
        std::string::npos);
}
