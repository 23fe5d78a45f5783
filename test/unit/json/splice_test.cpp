#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "json/splice.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::json {
namespace {

TEST_CASE("set replaces the value in place or adds the member at the end") {
  CHECK(Splice("{}").set("a", "1").text() == R"({"a":1})");
  CHECK(Splice("").set("a", "1").text() == R"({"a":1})");
  CHECK(Splice("{ \n }").set("a", "1").set("b", "2").text() == "{\"a\":1,\"b\":2 \n }");
  CHECK(Splice(R"({"a":1})").set("b", "2").text() == R"({"a":1,"b":2})");
  CHECK(Splice("{ \"a\" : 1.0 , \"b\":[ ] \n}").set("a", "2").set("c", "3").text() ==
        "{ \"a\" : 2 , \"b\":[ ],\"c\":3 \n}");
  CHECK(Splice(R"({"a":1})").set("k\"", "2").text() == R"({"a":1,"k\"":2})");
}

TEST_CASE("a key spelled with escapes is the same key") {
  CHECK(Splice(R"({"\u0061":1,"b":2})").set("a", "9").text() == R"({"\u0061":9,"b":2})");
  CHECK(Splice(R"({"\u0061":1,"b":2})").remove("a").text() == R"({"b":2})");
  CHECK(Splice(R"({"\u0061":1})").set_default("a", "9").text() == R"({"\u0061":1})");
}

TEST_CASE("remove takes the right comma along") {
  const Raw three = R"({ "a":1 , "b":2 , "c":3 })";
  CHECK(Splice(three).remove("a").text() == R"({ "b":2 , "c":3 })");
  CHECK(Splice(three).remove("b").text() == R"({ "a":1 , "c":3 })");
  CHECK(Splice(three).remove("c").text() == R"({ "a":1 , "b":2 })");
  CHECK(Splice(three).remove("a").remove("b").text() == R"({ "c":3 })");
  CHECK(Splice(three).remove("b").remove("c").text() == R"({ "a":1 })");
  CHECK(Splice(three).remove("a").remove("c").text() == R"({ "b":2 })");
  CHECK(Splice(three).remove("a").remove("b").remove("c").text() == "{  }");
  CHECK(Splice(three).remove("x").text() == three);
  CHECK(Splice("{}").remove("x").text() == "{}");
}

TEST_CASE("removing and adding in one go keeps the commas right") {
  const Raw two = R"({ "a":1 , "b":2 })";
  CHECK(Splice(two).remove("a").set("c", "3").text() == R"({ "b":2,"c":3 })");
  CHECK(Splice(two).remove("b").set("c", "3").text() == R"({ "a":1,"c":3 })");
  CHECK(Splice(two).remove("a").remove("b").set("c", "3").text() == R"({ "c":3 })");
}

TEST_CASE("set_default leaves what is there, whatever its value") {
  CHECK(Splice(R"({"a":null})").set_default("a", "1").text() == R"({"a":null})");
  CHECK(Splice(R"({"b":0})").set_default("a", "1").text() == R"({"b":0,"a":1})");
}

TEST_CASE("a later edit of a name replaces the earlier one") {
  const Raw object = R"({"a":1})";
  CHECK(Splice(object).set("a", "2").remove("a").text() == "{}");
  CHECK(Splice(object).remove("a").set("a", "2").text() == R"({"a":2})");
  CHECK(Splice(object).remove("a").set_default("a", "3").text() == R"({"a":3})");
  CHECK(Splice(object).set("a", "2").set_default("a", "3").text() == R"({"a":2})");
  CHECK(Splice("{}").set_default("a", "2").set_default("a", "3").text() == R"({"a":2})");
}

TEST_CASE("no second copy of an edited name is left for a reader that takes the last") {
  const Raw object = R"({"a":1,"b":2,"\u0061":3,"b":4})";
  CHECK(Splice(object).set("a", "9").text() == R"({"a":9,"b":2,"b":4})");
  CHECK(Splice(object).remove("a").text() == R"({"b":2,"b":4})");
  CHECK(Splice(object).set_default("a", "9").text() == object);
}

TEST_CASE("without edits, or on what is no object, the text stays") {
  CHECK(Splice(R"({ "a" : 1 })").text() == R"({ "a" : 1 })");
  CHECK_FALSE(Splice("{}").changed());
  CHECK(Splice("{}").set("a", "1").changed());
  CHECK(Splice("[1, 2]").set("a", "1").text() == "[1, 2]");
  std::string out = "x=";
  Splice("{}").set("a", "1").append_to(out);
  CHECK(out == R"(x={"a":1})");
}

struct Pair {
  std::string key, value;
  bool operator==(const Pair& other) const { return key == other.key && value == other.value; }
};

std::vector<Pair> pairs_of(Raw object) {
  std::vector<Pair> out;
  Members members(object);
  while (const auto member = members.next()) {
    out.push_back({std::string(member->key), std::string(member->value)});
  }
  return out;
}

bool is_key(const Pair& pair, std::string_view key) {
  return Member{pair.key, {}}.key_is(key);
}

// What the splice means, on a list of members instead of on text.
std::vector<Pair> expected_set(std::vector<Pair> pairs, const std::string& key, const char* value) {
  std::vector<Pair> out;
  bool done = false;
  for (Pair& pair : pairs) {
    if (!is_key(pair, key)) {
      out.push_back(pair);
    } else if (!done) {
      out.push_back({pair.key, value});
      done = true;
    }
  }
  if (!done) out.push_back({quoted(key), value});
  return out;
}

TEST_CASE("splicing random objects gives valid objects with every other member untouched") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::string object = random.object(3, {"name", "a"});
    CAPTURE(object);
    const std::string same = Splice(object).set_default("name", "0").remove("name").text();
    REQUIRE(same == Splice(object).remove("name").text());

    const std::string set = Splice(object).set("name", "\"new\"").remove("a").text();
    CAPTURE(set);
    REQUIRE(validate(set, Limits{}).has_value());
    std::vector<Pair> expected = expected_set(pairs_of(object), "name", "\"new\"");
    std::erase_if(expected, [](const Pair& pair) { return is_key(pair, "a"); });
    REQUIRE(pairs_of(set) == expected);

    // Setting each value to what it is already gives the very same bytes.
    const auto name = find(object, "name");
    if (name &&
        pairs_of(object) == expected_set(pairs_of(object), "name", std::string(*name).c_str())) {
      REQUIRE(Splice(object).set("name", std::string(*name)).text() == object);
    }
  }
}

}  // namespace
}  // namespace mcpx::json
