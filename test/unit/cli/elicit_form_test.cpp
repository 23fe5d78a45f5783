// Forms on the command line: what is typed becomes the JSON that the form asks for.
#include "elicit_form.hpp"

#include <boost/json/parse.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace mcpx::cli {
namespace {

std::vector<FormField> fields() {
  return form_of(boost::json::parse(R"({"type":"object","required":["name","size"],"properties":{
    "name":{"type":"string","title":"Name"},
    "size":{"type":"integer","default":3},
    "ratio":{"type":"number"},
    "sure":{"type":"boolean"},
    "colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
    "tags":{"type":"array","items":{"anyOf":[{"const":"a","title":"Alpha"},{"const":"b"}]}}}})")
                     .get_object());
}

TEST_CASE("elicit: words become the JSON of their fields") {
  const std::vector<std::string> words = {"name=Ann \"x\"", "size=7",       "ratio:=1.50",
                                          "sure=yes",       "colour=Green", "tags=Alpha, 2"};
  const auto content = content_from_pairs(words, fields());
  REQUIRE(content.has_value());
  CHECK(*content ==
        R"({"name":"Ann \"x\"","size":7,"ratio":1.50,"sure":true,"colour":"g","tags":["a","b"]})");
}

TEST_CASE("elicit: what a field cannot be is refused, by name") {
  for (const char* word : {"size=7.5", "size=x", "ratio=1e", "sure=maybe", "colour=blue", "tags=c",
                           "other=1", "name", "=x", "ratio:={"}) {
    INFO(word);
    const std::vector<std::string> words = {word};
    const auto content = content_from_pairs(words, fields());
    REQUIRE(content.has_error());
    CHECK(content.error().code == "cli.usage");
  }
}

TEST_CASE("elicit: the dialogue asks again, takes defaults, and leaves out what may be") {
  std::vector<std::string> typed = {"", "Ann", "", "", "perhaps", "no", "3", "r", ""};
  std::size_t next = 0;
  std::vector<std::string> said;
  Dialogue dialogue;
  dialogue.ask = [&](const std::string&) -> std::optional<std::string> {
    if (next == typed.size()) return std::nullopt;
    return typed[next++];
  };
  dialogue.say = [&](const std::string& line) { said.push_back(line); };
  const auto content = ask_form(dialogue, fields());
  REQUIRE(content.has_value());
  CHECK(*content == R"({"name":"Ann","size":3,"sure":false,"colour":"r"})");
  next = typed.size();
  CHECK_FALSE(ask_form(dialogue, fields()).has_value());
}

TEST_CASE("elicit: the example fills in what is required") {
  CHECK(example_options(fields()) == " --set name=VALUE --set size=VALUE");
  CHECK(example_options({}).empty());
  // Pasted, it does what it says: names are a server's.
  const std::pair<const char*, const char*> cases[] = {{"a b", " --set 'a b=VALUE'"},
                                                       {"x;id", " --set 'x;id=VALUE'"},
                                                       {"$(id)", " --set '$(id)=VALUE'"},
                                                       {"it's", " --set 'it'\\''s=VALUE'"},
                                                       {"a\x1b[2J\n", " --set 'a?[2J =VALUE'"}};
  for (const auto& [name, expected] : cases) {
    FormField field;
    field.name = name;
    field.required = true;
    const std::vector<FormField> one = {field};
    CHECK(example_options(one) == expected);
  }
}

TEST_CASE("elicit: the host of a URL is what stands after any @, and strange ones are told",
          "[req:elicitation-client-highlight-domain][req:elicitation-client-warn-punycode]") {
  CHECK(host_of("https://bank.example@evil.example:8443/x@y") == "evil.example:8443");
  CHECK(host_of("https://a.example\\@b.example/") == "a.example");
  CHECK(host_of("mailto:x").empty());
  CHECK(suspicious_host("xn--bnk-6ma.example"));
  CHECK(suspicious_host("b\u00e4nk.example"));
  CHECK_FALSE(suspicious_host("bank.example"));
}

}  // namespace
}  // namespace mcpx::cli
