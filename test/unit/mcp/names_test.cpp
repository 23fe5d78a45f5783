#include <catch2/catch.hpp>
#include <cctype>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mcp/names.hpp"

namespace mcpx::mcp {
namespace {

constexpr std::size_t kLimit = kDefaultNameLimit;

TEST_CASE("a plain name is its prefix, two underscores and itself") {
  REQUIRE(exposed_name("files", "read_file", kLimit) == "files__read_file");
  REQUIRE(exposed_name("ha-mcp", "Turn-On_2", kLimit) == "ha-mcp__Turn-On_2");
  REQUIRE(exposed_name("a", "b__c", kLimit) == "a__b__c");
  REQUIRE(exposed_name("a", "_b", kLimit) == "a___b");
  REQUIRE(exposed_name("files", "get_document", kLimit) == "files__get_document");
}

TEST_CASE("without a prefix a name stands alone") {
  REQUIRE(exposed_name("", "read_file", kLimit) == "read_file");
  REQUIRE(exposed_name("", "mcp__files__read", kLimit) == "mcp__files__read");
}

TEST_CASE("a name that fits exactly is kept, one character more is cut") {
  const std::string fits(kLimit - 3, 'n');
  REQUIRE(exposed_name("a", fits, kLimit) == "a__" + fits);
  const std::string cut = exposed_name("a", fits + "n", kLimit);
  REQUIRE(cut.size() == kLimit);
  REQUIRE(cut.substr(0, 40) == ("a__" + fits).substr(0, 40));
}

TEST_CASE("a UTF-8 character is replaced by one underscore") {
  const std::string name = exposed_name("s", "h\xC3\xA9llo\xE2\x82\xAC\xF0\x9F\x98\x80", kLimit);
  REQUIRE(name.substr(0, name.size() - 8) == "s__h_llo___");
}

TEST_CASE("a digest is eight lower-case characters behind an underscore, and stable") {
  const std::string name = exposed_name("s", "a.b", kLimit);
  REQUIRE(name.size() == std::string("s__a_b_").size() + 8);
  REQUIRE(name.substr(0, 7) == "s__a_b_");
  REQUIRE(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos);
  REQUIRE(exposed_name("s", "a.b", kLimit) == name);
  // Clients remember names (allow-lists, prompts): this spelling must never change.
  REQUIRE(name == "s__a_b_zncxftny");
}

TEST_CASE("C42: servers whose prefixes and names run together keep apart") {
  REQUIRE(exposed_name("ha", "mcp__x", kLimit) != exposed_name("ha-mcp", "x", kLimit));
  REQUIRE(exposed_name("b1", "x_y", kLimit) != exposed_name("b1_x", "y", kLimit));
  REQUIRE(exposed_name("a", "b__c", kLimit) != exposed_name("a__b", "c", kLimit));
  REQUIRE(exposed_name("a", "_b", kLimit) != exposed_name("a_", "b", kLimit));
  REQUIRE(exposed_name("a_", "_b", kLimit) != exposed_name("a__", "b", kLimit));
}

TEST_CASE("C44: names that differ only in what is replaced or cut stay distinct") {
  REQUIRE(exposed_name("s", "a.b", kLimit) != exposed_name("s", "a_b", kLimit));
  REQUIRE(exposed_name("s", "a.b", kLimit) != exposed_name("s", "a/b", kLimit));
  REQUIRE(exposed_name("s", "a b", kLimit) != exposed_name("s", "a\tb", kLimit));
  const std::string lengthy(200, 'x');
  REQUIRE(exposed_name("s", lengthy + "1", kLimit) != exposed_name("s", lengthy + "2", kLimit));
}

TEST_CASE("C44: a server cannot name a tool like the digested name of another") {
  const std::string digested = exposed_name("s", "a.b", kLimit);
  const std::string imitation = digested.substr(3);  // "s__" + imitation is that name
  REQUIRE(exposed_name("s", imitation, kLimit) != digested);
  REQUIRE(exposed_name("", digested, kLimit) != digested);
}

TEST_CASE("a forced digest differs from the plain name and keeps the limit") {
  const std::string name = disambiguated_name("s", "echo", kLimit);
  REQUIRE(name != exposed_name("s", "echo", kLimit));
  REQUIRE(name.substr(0, 8) == "s__echo_");
  REQUIRE(disambiguated_name("t", "echo", kLimit) != name);
  REQUIRE(disambiguated_name("s", "a.b", kLimit) == exposed_name("s", "a.b", kLimit));
  REQUIRE(disambiguated_name("s", std::string(90, 'e'), 16).size() == 16);
}

TEST_CASE("names for clients that take only words are words, distinct, and the others unchanged") {
  const NameRules word(kLimit, NameCharset::word);
  REQUIRE(exposed_name("files", "read_file", word) == "files__read_file");
  REQUIRE(exposed_name("s", "a-b", word) != exposed_name("s", "a_b", word));
  REQUIRE(exposed_name("1st", "go", word) != exposed_name("x1st", "go", word));
  REQUIRE(exposed_name("", "_", word).front() == 'x');
  std::set<std::string> seen;
  for (const char* prefix : {"a-b", "a_b", "1", "x1", "", "-", "my-server"}) {
    for (const char* original : {"t", "t-u", "t_u", "-", "_", "9", "x9"}) {
      const std::string name = exposed_name(prefix, original, word);
      CAPTURE(prefix, original, name);
      REQUIRE(legal_name(name, kLimit));
      REQUIRE(name.find('-') == std::string::npos);
      REQUIRE(std::isalpha(static_cast<unsigned char>(name.front())));
      REQUIRE(seen.insert(name).second);
    }
  }
}

TEST_CASE("legal names are short and made of letters, digits, underscore and hyphen") {
  REQUIRE(legal_name("a-B_9", 5));
  REQUIRE_FALSE(legal_name("a-B_9", 4));
  REQUIRE_FALSE(legal_name("", 64));
  for (const char* bad : {"a.b", "a b", "a/b", "\xC3\xA9", "a\n"}) {
    REQUIRE_FALSE(legal_name(bad, 64));
  }
}

// Names as servers have them, and worse.
std::vector<std::string> nasty_names(std::mt19937& random) {
  const std::vector<std::string> pieces = {
      "a",   "b",    "_",        "__",           "-",   ".",    "/",  " ",
      "x_y", "tool", "\xC3\xA9", "\xE2\x82\xAC", "\"",  "\\",   "\t", "0",
      "1",   "_0",   "bcdfghjk", "_bcdfghjk",    "get", "List", "::", "mcp__",
      "%20"};
  std::set<std::string> names = {"", "_", "__", "___"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  std::uniform_int_distribution<int> count(1, 9);
  while (names.size() < 1500) {
    std::string name;
    for (int i = count(random); i > 0; --i)
      name += pieces[piece(random)];
    names.insert(name);
    names.insert(name + std::string(80, 'z') + pieces[piece(random)]);
  }
  return {names.begin(), names.end()};
}

TEST_CASE("C42, C44: thousands of names under hostile prefixes are all legal and all distinct",
          "[req:tools-name-length][req:tools-name-charset]"
          "[req:tools-name-no-special]") {
  std::mt19937 random(20260728);
  const auto names = nasty_names(random);
  const std::vector<std::string> prefixes = {"a",
                                             "b",
                                             "a_",
                                             "a__",
                                             "a__b",
                                             "_",
                                             "a-b",
                                             "a.b",
                                             "tool",
                                             "x_y",
                                             "\xC3\xA9",
                                             std::string(70, 'p'),
                                             std::string(70, 'p') + "q"};
  for (const std::size_t limit : {std::size_t{16}, std::size_t{32}, std::size_t{64}}) {
    std::map<std::string, std::pair<std::string, std::string>> seen;
    for (const auto& prefix : prefixes) {
      for (const auto& original : names) {
        const std::string name = exposed_name(prefix, original, limit);
        const auto [at, fresh] = seen.try_emplace(name, prefix, original);
        CAPTURE(limit, prefix, original, name, at->second.first, at->second.second);
        if (!legal_name(name, limit)) FAIL("not legal");
        if (!fresh) FAIL("not distinct");
      }
    }
    REQUIRE(seen.size() == prefixes.size() * names.size());
  }
}

}  // namespace
}  // namespace mcpx::mcp
