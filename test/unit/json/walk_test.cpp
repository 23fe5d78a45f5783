#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::json {
namespace {

std::vector<std::string> pairs_of(Raw object) {
  std::vector<std::string> out;
  Members members(object);
  while (const auto member = members.next()) {
    out.push_back(std::string(member->key) + "=" + std::string(member->value));
  }
  return out;
}

std::vector<std::string> elements_of(Raw array) {
  std::vector<std::string> out;
  Elements elements(array);
  while (const auto element = elements.next())
    out.emplace_back(*element);
  return out;
}

using Texts = std::vector<std::string>;

TEST_CASE("Members yields every member as written, trimmed") {
  CHECK(pairs_of("{}").empty());
  CHECK(pairs_of("{ \n }").empty());
  CHECK(pairs_of("").empty());
  CHECK(pairs_of("[1]").empty());
  CHECK(pairs_of("\"{\"").empty());
  CHECK(pairs_of(R"({"a":1})") == Texts{R"("a"=1)"});
  CHECK(pairs_of(R"( { "a" : 1.0 , "a":{"x":"}"} ,"\u0061" : [ "]" , [] ]  , "n":null } )") ==
        Texts{R"("a"=1.0)", R"("a"={"x":"}"})", R"("\u0061"=[ "]" , [] ])", R"("n"=null)"});
  CHECK(pairs_of(R"({"q\"":"\\","e":"\\\""})") == Texts{R"("q\""="\\")", R"("e"="\\\"")"});
}

TEST_CASE("Elements yields every element as written, trimmed") {
  CHECK(elements_of("[]").empty());
  CHECK(elements_of("[ ]").empty());
  CHECK(elements_of("{}").empty());
  CHECK(elements_of(R"([1 , "," ,{"a":[2]},[ ] ,null])") ==
        Texts{"1", "\",\"", R"({"a":[2]})", "[ ]", "null"});
}

TEST_CASE("keys are compared unescaped, and the first one counts") {
  const Raw object = R"({"meth\u006fd":1,"method":2,"\ud800":3,"a\/b":4,"\u00e9":5})";
  CHECK(find(object, "method") == Raw("1"));
  CHECK(find(object, "a/b") == Raw("4"));
  CHECK(find(object, "\xC3\xA9") == Raw("5"));
  CHECK_FALSE(find(object, "meth\\u006fd"));
  CHECK_FALSE(find(object, "a\\/b"));
  CHECK_FALSE(find(object, ""));
  CHECK_FALSE(find("[]", "a"));
  CHECK(find(R"({"a":{"b":{"c":7}}})", "a", "b", "c") == Raw("7"));
  CHECK_FALSE(find(R"({"a":[1]})", "a", "b"));
}

TEST_CASE("kind_of looks at the first byte only") {
  CHECK(kind_of("{}") == Kind::object);
  CHECK(kind_of("[]") == Kind::array);
  CHECK(kind_of("\"\"") == Kind::string);
  CHECK(kind_of("-1") == Kind::number);
  CHECK(kind_of("7") == Kind::number);
  CHECK(kind_of("true") == Kind::boolean);
  CHECK(kind_of("false") == Kind::boolean);
  CHECK(kind_of("null") == Kind::null);
  CHECK(kind_of("") == Kind::null);
}

TEST_CASE("decode_string answers what another JSON library answers") {
  CHECK(decode_string(R"("a\u0000b")") == std::string("a\0b", 3));
  CHECK(decode_string(R"("\ud83d\ude00")") == "\xF0\x9F\x98\x80");
  CHECK_FALSE(decode_string("7"));
  CHECK_FALSE(decode_string("\""));
  CHECK_FALSE(decode_string(""));
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random.string();
    CAPTURE(text);
    const auto decoded = decode_string(text);
    REQUIRE(decoded);
    const auto other = boost::json::parse(text).as_string();
    REQUIRE(*decoded == std::string_view(other.data(), other.size()));
    REQUIRE(decode_string(quoted(*decoded)) == *decoded);
  }
}

TEST_CASE("as_integer takes integers in every spelling, as far as they fit") {
  struct Case {
    std::string text;
    std::optional<std::int64_t> value;
  };
  const auto largest = std::numeric_limits<std::int64_t>::max();
  const auto smallest = std::numeric_limits<std::int64_t>::min();
  const std::vector<Case> cases = {{"0", 0},
                                   {"-0", 0},
                                   {"7", 7},
                                   {"-7", -7},
                                   {"1.0", 1},
                                   {"1.50e1", 15},
                                   {"10e-1", 1},
                                   {"1E+2", 100},
                                   {"0e999999999999999999999", 0},
                                   {"0.000", 0},
                                   {"9223372036854775807", largest},
                                   {"-9223372036854775808", smallest},
                                   {"9223372036854775807.000", largest},
                                   {"9223372036854775808", {}},
                                   {"-9223372036854775809", {}},
                                   {"1e18", 1'000'000'000'000'000'000},
                                   {"1e19", {}},
                                   {"1e400", {}},
                                   {"1.5", {}},
                                   {"1e-1", {}},
                                   {"15e-1", {}},
                                   {"\"7\"", {}},
                                   {"true", {}},
                                   {"", {}},
                                   {"-", {}},
                                   {"7x", {}},
                                   {"1e99999999999999999999", {}},
                                   {"10000000000000000000000e-22", 1}};
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.text) {
      CHECK(as_integer(c.text) == c.value);
    }
  }
}

TEST_CASE("is_integer has no upper bound and no taste in spelling") {
  for (const Raw text : {"0", "-0", "7", "7.0", "70e-1", "1e400", "-1E+2",
                         "1234567890123456789012345678901234567890"}) {
    CAPTURE(text);
    CHECK(is_integer(text));
  }
  for (const Raw text : {"1.5", "5e-1", "1e-400", "\"7\"", "null", "", "[7]", "-", "1.2e1x"}) {
    CAPTURE(text);
    CHECK_FALSE(is_integer(text));
  }
}

TEST_CASE("as_bool and find_string take only their own kind") {
  CHECK(as_bool("true") == true);
  CHECK(as_bool("false") == false);
  CHECK_FALSE(as_bool("\"true\""));
  CHECK_FALSE(as_bool("1"));
  CHECK(find_string(R"({"a":"\u0041","b":1})", "a") == "A");
  CHECK_FALSE(find_string(R"({"a":"x","b":1})", "b"));
  CHECK_FALSE(find_string(R"({"a":"x","b":1})", "c"));
}

TEST_CASE("the walkers find exactly the values a container was made of") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 2000; ++i) {
    Texts values, pairs;
    std::string array = "[", object = "{";
    for (std::size_t n = random.below(6); n > 0; --n) {
      // Runs of backslashes and quotes of every length, to meet every block boundary of the scan.
      std::string value = random.value();
      if (random.one_in(3)) {
        value = '"' + std::string(random.below(140), 'x') +
                std::string(2 * random.below(70), '\\') + (random.one_in(2) ? "\\\"]}" : "") + '"';
        if (random.one_in(2)) value = "{\"k\":[" + value + "]}";
      }
      const std::string key = random.string();
      values.push_back(value);
      pairs.push_back(key + "=" + value);
      const std::string separator = values.size() > 1 ? random.white() + "," : "";
      array += separator + random.white() + value;
      object += separator + random.white() + key + random.white() + ":" + random.white() + value;
    }
    array += random.white() + "]";
    object += random.white() + "}";
    CAPTURE(array, object);
    REQUIRE(validate(array, Limits{}).has_value());
    REQUIRE(elements_of(array) == values);
    REQUIRE(pairs_of(object) == pairs);
    // Inside something else the end is found from the outside too.
    REQUIRE(elements_of("[" + array + " , " + object + "]") == Texts{array, object});
  }
}

// Reads every span a walker offers, so that an address sanitizer sees a span that leaves the text.
std::size_t walk_all(Raw value, int depth = 0) {
  std::size_t sum = 0;
  for (const char c : value)
    sum += static_cast<unsigned char>(c);
  if (depth > 20) return sum;
  Members members(value);
  while (const auto member = members.next()) {
    sum += member->key_is("id") ? 1 : 0;
    sum += walk_all(member->key, depth + 1) + walk_all(member->value, depth + 1);
  }
  Elements elements(value);
  while (const auto element = elements.next())
    sum += walk_all(*element, depth + 1);
  return sum;
}

TEST_CASE("walkers stay inside the span on garbage and on text cut anywhere") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  std::size_t sum = 0;
  for (int i = 0; i < 300; ++i) {
    std::string text = random.object();
    for (std::size_t cut = 0; cut <= text.size() && cut < 200; ++cut) {
      // A heap block of exactly this size: one byte further is an error the sanitizer reports.
      const std::unique_ptr<char[]> exact(new char[cut]);
      text.copy(exact.get(), cut);
      sum += walk_all(Raw(exact.get(), cut));
    }
    for (char& c : text) {
      if (random.one_in(3)) c = "{}[]\",:\\ a1"[random.below(11)];
    }
    sum += walk_all(text);
  }
  CHECK(sum > 0);
}

TEST_CASE("may_mention never misses a member") {
  CHECK(may_mention(R"({"uri":1})", "uri"));
  CHECK(may_mention(R"({"a":[{"b":{ "uri" : 1}}]})", "uri"));
  CHECK(may_mention(R"({"\u0075ri":1})", "uri"));
  CHECK(may_mention(R"({"a":"\\","uri":1})", "uri"));
  CHECK_FALSE(may_mention(R"({"a":"the uri of","urn":"curious"})", "uri"));
  CHECK_FALSE(may_mention("{}", "uri"));
}

TEST_CASE("numbers compare exactly, however they are written") {
  struct Row {
    const char *a, *b;
    int order;
  };
  const Row rows[] = {
      {"1", "2", -1},         {"10", "9", 1},
      {"1.0", "1", 0},        {"0.5", "0.50", 0},
      {"-0", "0.0e7", 0},     {"-1", "0", -1},
      {"-2", "-10", 1},       {"1e2", "100", 0},
      {"12e-1", "1.21", -1},  {"9007199254740993", "9007199254740992", 1},
      {"1e400", "2e400", -1}, {"1e400", "9e399", 1},
      {"0.1", "0.09", 1},     {"100", "12", 1},
  };
  const auto sign = [](int value) { return (value > 0) - (value < 0); };
  for (const Row& row : rows) {
    CAPTURE(row.a, row.b);
    REQUIRE(compare_numbers(row.a, row.b).has_value());
    CHECK(sign(*compare_numbers(row.a, row.b)) == row.order);
    CHECK(sign(*compare_numbers(row.b, row.a)) == -row.order);
  }
  for (const char* text : {"", "\"1\"", "null", "[1]"}) {
    CAPTURE(text);
    CHECK_FALSE(compare_numbers(text, "1").has_value());
    CHECK_FALSE(compare_numbers("1", text).has_value());
  }
}

}  // namespace
}  // namespace mcpx::json
