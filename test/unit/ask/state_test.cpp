#include "ask/state.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "ask/keyring.hpp"
#include "ask/seal.hpp"

using namespace mcpx;
using namespace mcpx::ask;

namespace {

constexpr std::int64_t kNow = 1'000'000'000'000;
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
  const Seal seal({Seal::random_key()});
  const Seal other({Seal::random_key()});
  for (const std::string& text : {std::string(), std::string("a"), std::string(100, 'x')}) {
    const std::string sealed = seal.close(text, kNow);
    CHECK(Seal::is_sealed(sealed));
    CHECK(seal.open(sealed) == text);
    CHECK(seal.close(text, kNow) != sealed);
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
  for (const char* nonsense : {"", "mcpx2.", "mcpx2..", "mcpx2.00000000.", "mcpx1.AAAA"})
    CHECK_FALSE(seal.open(nonsense).has_value());
}

TEST_CASE("a key seals from its time on, and opens for as long as it is there") {
  const Seal::Key old = Seal::random_key(kNow - 10), next = Seal::random_key(kNow + 10);
  REQUIRE(old.id != next.id);
  const Seal before({old}), both({old, next}), after({next});
  const std::string early = both.close("early", kNow);
  const std::string late = both.close("late", kNow + 10);
  CHECK(both.open(early) == "early");
  CHECK(both.open(late) == "late");
  CHECK(before.open(early) == "early");
  CHECK_FALSE(before.open(late).has_value());
  CHECK_FALSE(after.open(early).has_value());
  CHECK(after.open(late) == "late");
  // A clock that was turned back finds a key all the same.
  CHECK(before.open(before.close("back", 0)) == "back");
  // The name of a key is part of what is sealed.
  std::string renamed = late;
  renamed.replace(late.find(next.id), next.id.size(), old.id);
  CHECK_FALSE(both.open(renamed).has_value());
}

TEST_CASE("a new key is due each day, an hour ahead") {
  constexpr std::int64_t kHour = 3'600'000;
  const auto first = due_key({}, kNow);
  REQUIRE(first.has_value());
  CHECK(first->from == kNow);
  CHECK_FALSE(due_key({*first}, kNow).has_value());
  CHECK_FALSE(due_key({*first}, kNow + 23 * kHour - 1).has_value());
  const auto second = due_key({*first}, kNow + 23 * kHour);
  REQUIRE(second.has_value());
  CHECK(second->from == kNow + 24 * kHour);
  CHECK(second->bytes != first->bytes);
  CHECK_FALSE(due_key({*first, *second}, kNow + 24 * kHour).has_value());
  const auto later = due_key({*first}, kNow + 100 * kHour);  // nothing ran meanwhile
  REQUIRE(later.has_value());
  CHECK(later->from == kNow + 101 * kHour);
}

std::shared_ptr<const Seal> seal_with(const Seal::Key& key) {
  const std::vector<Seal::Key> keys{key};
  return std::make_shared<const Seal>(keys);
}

TEST_CASE("a state is for the request it was given to, in time, and this run of the daemon",
          "[req:mrtr-requeststate-replay-fields]") {
  const auto seal = seal_with(Seal::random_key());
  const States states(seal, "run1");
  Ticket given = ticket();
  given.expiry = kNow + 500;
  const std::string state = states.write(given, bound(), kNow);

  const Result<Ticket> read = states.read(state, bound(), kNow);
  REQUIRE(read.has_value());
  CHECK(read->shard == 3);
  CHECK(read->call == 1234567890123ULL);
  CHECK(read->round == 2);
  CHECK_FALSE(read->relayed);
  CHECK(read->expiry == kNow + 500);

  CHECK(code_of(states.read(state + "x", bound(), kNow)) == "ask.state_altered");
  CHECK(code_of(states.read(state, bound(), given.expiry)) == "");
  CHECK(code_of(states.read(state, bound(), given.expiry + 1)) == "ask.state_expired");
  CHECK(code_of(States(seal, "run2").read(state, bound(), kNow)) == "ask.state_expired");
  CHECK(code_of(States(seal_with(Seal::random_key()), "run1").read(state, bound(), kNow)) ==
        "ask.state_altered");
  for (const std::string& other :
       {bound(R"({"name":"u","arguments":{"a":1,"b":["x",{}]}})"),
        bound(R"({"name":"t","arguments":{"a":1.0,"b":["x",{}]}})"),
        bound(R"({"name":"t","arguments":{"a":1,"b":[{},"x"]}})"), bound(kParams, "eve"),
        bound(kParams, "ada", "files"), bound(kParams, "ada", "", "prompts/get")}) {
    CHECK(code_of(states.read(state, other, kNow)) == "ask.state_foreign");
  }
}

TEST_CASE("a modern server's state comes back as it was, from any run that has the key") {
  const auto seal = seal_with(Seal::random_key());
  for (const std::string& theirs : {std::string(R"("a b \u0041 \" c")"), std::string(R"("")"),
                                    '"' + std::string(300'000, 'x') + '"'}) {
    Ticket given = ticket();
    given.relayed = true;
    given.server_state = theirs;
    given.expiry = kNow + 500;
    const std::string state = States(seal, "run1").write(given, bound(), kNow);
    CHECK(state.find("u0041") == std::string::npos);
    const States other(seal, "run2");
    const Result<Ticket> read = other.read(state, bound(), kNow);
    REQUIRE(read.has_value());
    CHECK(read->relayed);
    CHECK(read->server_state == theirs);
    CHECK(read->round == 2);
    CHECK(code_of(other.read(state, bound("{}"), kNow)) == "ask.state_foreign");
    CHECK(code_of(other.read(state, bound(), kNow + 501)) == "ask.state_expired");
  }
}

TEST_CASE("answers that a server is to get with the retry travel in the state, beside its own") {
  const States states(seal_with(Seal::random_key()), "run1");
  for (const std::string& theirs : {std::string(), std::string(R"("a b")")}) {
    for (const std::string& answers :
         {std::string(R"({"a":{"action":"accept"},"b c":{"roots":[]}})"), std::string("{}")}) {
      Ticket given = ticket();
      given.relayed = true;
      given.server_state = theirs;
      given.answers = answers;
      given.expiry = kNow + 500;
      const Result<Ticket> read = states.read(states.write(given, bound(), kNow), bound(), kNow);
      REQUIRE(read.has_value());
      CHECK(read->relayed);
      CHECK(read->server_state == theirs);
      CHECK(read->answers == answers);
    }
  }
}

TEST_CASE("a retry may write its parameters anew, and carries what the first request did not") {
  CHECK(bound() ==
        bound(R"({ "inputResponses":{"x":{}}, "requestState":"s", "_meta":{"progressToken":1},
                  "arguments":{"b":["\u0078",{}],"a":1}, "name":"t"})"));
  CHECK(bound(R"({"arguments":{"_meta":1}})") != bound(R"({"arguments":{}})"));
  CHECK(bound("") == bound("{}"));
}
