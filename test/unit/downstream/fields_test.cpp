// HTTP fields, read: media types and mirrored values.
#include "downstream/fields.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace mcpx::downstream {
namespace {

http1::Fields of(const std::vector<std::pair<std::string, std::string>>& list) {
  http1::Fields fields;
  for (const auto& [name, value] : list)
    fields.add(name, value);
  return fields;
}

TEST_CASE("what a client accepts") {
  struct Case {
    std::string name;
    std::vector<std::pair<std::string, std::string>> fields;
    bool json, events;
  };
  const std::vector<Case> cases = {
      {"absent", {}, true, true},
      {"both", {{"Accept", "application/json, text/event-stream"}}, true, true},
      {"both, in two fields",
       {{"accept", "application/json"}, {"ACCEPT", "Text/Event-Stream;q=0.5"}},
       true,
       true},
      {"anything", {{"Accept", "*/*"}}, true, true},
      {"json alone", {{"Accept", "application/json"}}, true, false},
      {"events alone", {{"Accept", "text/event-stream"}}, false, true},
      {"ranges", {{"Accept", "text/*"}}, false, true},
      {"something else", {{"Accept", "text/html, image/png"}}, false, false},
      {"excluded by q=0",
       {{"Accept", "application/json;q=0, text/event-stream;q=0.1"}},
       false,
       true},
      {"excluded by q=0.000", {{"Accept", "application/json; q=0.000"}}, false, false},
      {"empty", {{"Accept", ""}}, false, false},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const Accepts found = accepts(of(c.fields));
      CHECK(found.json == c.json);
      CHECK(found.events == c.events);
    }
  }
}

TEST_CASE("only application/json is JSON") {
  CHECK(is_json(of({{"content-type", "application/json"}})));
  CHECK(is_json(of({{"Content-Type", "APPLICATION/json ; charset=utf-8"}})));
  CHECK_FALSE(is_json(of({{"Content-Type", "application/json-patch+json"}})));
  CHECK_FALSE(is_json(of({{"Content-Type", "text/plain"}})));
  CHECK_FALSE(is_json(of({})));
}

TEST_CASE("a mirrored value is plain or Base64 between the marks",
          "[req:streamable-http-server-decodes-before-compare]") {
  CHECK(decode_mirrored("us-west1") == "us-west1");
  CHECK(decode_mirrored("=?base64?SGVsbG8sIOS4lueVjA==?=") == "Hello, 世界");
  CHECK(decode_mirrored("=?base64?IHBhZGRlZCA=?=") == " padded ");
  CHECK(decode_mirrored("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=") == "=?base64?literal?=");
  CHECK(decode_mirrored("=?base64?half") == "=?base64?half");
  CHECK_FALSE(decode_mirrored("=?base64?!!!!?="));
  CHECK_FALSE(decode_mirrored("=?base64?YQ?="));
  CHECK_FALSE(decode_mirrored("caf\xc3\xa9"));
  CHECK_FALSE(decode_mirrored(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace mcpx::downstream
