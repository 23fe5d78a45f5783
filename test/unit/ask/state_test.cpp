#include "ask/state.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "ask/seal.hpp"

using namespace mcpx;
using namespace mcpx::ask;

namespace {

const TimePoint kNow = TimePoint(Milliseconds(1'000'000));
constexpr std::string_view kParams = R"({"name":"t","arguments":{"a":1,"b":["x",{}]}})";

std::string bound(std::string_view params = kParams, std::string_view principal = "ada",
                  std::string_view endpoint = "", std::string_view method = "tools/call") {
  return binding_of(endpoint, principal, method, params);
}

Ticket ticket() {
  Ticket made;
  made.shard = 3;
  made.call = 1234567890123ULL;
  made.round = 2;
  return made;
}

std::string code_of(const Result<Ticket>& read) {
  return read.has_value() ? "" : read.error().code;
}

}  // namespace

TEST_CASE("what is sealed comes back, and nothing else does",
          "[req:mrtr-requeststate-attacker-controlled]") {
  const Seal seal(Seal::random_key());
  const Seal other(Seal::random_key());
  for (const std::string& text : {std::string(), std::string("a"), std::string(100, 'x')}) {
    const std::string sealed = seal.close(text);
    CHECK(seal.open(sealed) == text);
    CHECK(seal.close(text) != sealed);
    CHECK_FALSE(other.open(sealed).has_value());
    for (std::size_t at = 0; at < sealed.size(); ++at) {
      std::string changed = sealed;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      CHECK_FALSE(seal.open(changed).has_value());
      CHECK_FALSE(seal.open(sealed.substr(0, at)).has_value());
    }
    CHECK_FALSE(seal.open(sealed + "A").has_value());
    CHECK_FALSE(seal.open(sealed + "-TAMPERED").has_value());
  }
  CHECK_FALSE(seal.open("").has_value());
  CHECK_FALSE(seal.open("mcpx1.").has_value());
}

TEST_CASE("a state is for the request it was given to, in time, and this run of the daemon",
          "[req:mrtr-requeststate-replay-fields]") {
  const Seal::Key key = Seal::random_key();
  const States states(key, "run1");
  const TimePoint expiry = kNow + Milliseconds(500);
  const std::string state = states.write(ticket(), bound(), expiry);

  const Result<Ticket> read = states.read(state, bound(), kNow);
  REQUIRE(read.has_value());
  CHECK(read->shard == 3);
  CHECK(read->call == 1234567890123ULL);
  CHECK(read->round == 2);

  CHECK(code_of(states.read(state + "x", bound(), kNow)) == "ask.state_altered");
  CHECK(code_of(states.read(state, bound(), expiry)) == "");
  CHECK(code_of(states.read(state, bound(), expiry + Milliseconds(1))) == "ask.state_expired");
  CHECK(code_of(States(key, "run2").read(state, bound(), kNow)) == "ask.state_expired");
  for (const std::string& other :
       {bound(R"({"name":"u","arguments":{"a":1,"b":["x",{}]}})"),
        bound(R"({"name":"t","arguments":{"a":1.0,"b":["x",{}]}})"),
        bound(R"({"name":"t","arguments":{"a":1,"b":[{},"x"]}})"), bound(kParams, "eve"),
        bound(kParams, "ada", "files"), bound(kParams, "ada", "", "prompts/get")}) {
    CHECK(code_of(states.read(state, other, kNow)) == "ask.state_foreign");
  }
}

TEST_CASE("a retry may write its parameters anew, and carries what the first request did not") {
  CHECK(bound() ==
        bound(R"({ "inputResponses":{"x":{}}, "requestState":"s", "_meta":{"progressToken":1},
                  "arguments":{"b":["\u0078",{}],"a":1}, "name":"t"})"));
  CHECK(bound(R"({"arguments":{"_meta":1}})") != bound(R"({"arguments":{}})"));
  CHECK(bound("") == bound("{}"));
}
