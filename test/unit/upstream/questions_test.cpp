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

TEST_CASE("roots of the configuration are declared and listed") {
  CHECK(declared_capabilities(kRoots) == R"({"roots":{}})");
  CHECK(answer("roots/list", kRoots) ==
        R"({"jsonrpc":"2.0","id":"q-1","result":{"roots":[)"
        R"({"uri":"file:///srv/a","name":"a"},{"uri":"file:///srv/b%20c"}]}})");
}

TEST_CASE("what was not declared is refused at once") {
  CHECK(declared_capabilities({}) == "{}");
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
