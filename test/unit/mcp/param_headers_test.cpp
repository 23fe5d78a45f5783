// Mcp-Param-*: annotations of a tool's schema, and the values of its arguments.
#include "mcp/param_headers.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace mcpx::mcp {
namespace {

std::string object_with(const std::string& properties) {
  return R"({"type":"object","properties":{)" + properties + "}}";
}

TEST_CASE("annotated properties are found with their paths, in order",
          "[req:streamable-http-client-header-construction]") {
  const std::string schema = object_with(
      R"("region":{"type":"string","x-mcp-header":"Region"},)"
      R"("n":{"x-mcp-header":"Limit","type":"integer"},)"
      R"("dry":{"type":["boolean","null"],"x-mcp-header":"Dry!#$%&'*+-.^_`|~9"},)"
      R"("where":{"type":"object","properties":{"a.b\"c":{"type":"string","x-mcp-header":"Z"}}},)"
      R"("free":{"type":"number"})");
  const ParamHeaders read = read_param_headers(schema);
  REQUIRE(read.problem.empty());
  REQUIRE(read.params.size() == 4);
  CHECK(read.params[0].field == "Mcp-Param-Region");
  CHECK(read.params[0].path == std::vector<std::string>{"region"});
  CHECK(read.params[1].field == "Mcp-Param-Limit");
  CHECK(read.params[2].field == "Mcp-Param-Dry!#$%&'*+-.^_`|~9");
  CHECK(read.params[3].path == std::vector<std::string>{"where", "a.b\"c"});
  CHECK(read_param_headers(object_with("")).params.empty());
  CHECK(read_param_headers("{}").problem.empty());
}

TEST_CASE("one bad annotation makes the definition invalid, and the problem says why",
          "[req:streamable-http-client-rejects-invalid-x-mcp-header]") {
  struct Case {
    std::string name, properties, problem;
  };
  const std::vector<Case> cases = {
      {"empty", R"("a":{"type":"string","x-mcp-header":""})", "is empty"},
      {"not a string", R"("a":{"type":"string","x-mcp-header":7})", "is not a string"},
      {"null", R"("a":{"type":"string","x-mcp-header":null})", "is not a string"},
      {"space", R"("a":{"type":"string","x-mcp-header":"My Region"})", "characters"},
      {"colon", R"("a":{"type":"string","x-mcp-header":"Region:Primary"})", "characters"},
      {"not ASCII", "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"R\xC3\xA9gion\"}", "characters"},
      {"tab", R"("a":{"type":"string","x-mcp-header":"Region\t1"})", "characters"},
      {"line feed", R"("a":{"type":"string","x-mcp-header":"X\r\nEvil: 1"})", "characters"},
      {"NUL", R"("a":{"type":"string","x-mcp-header":"X\u0000"})", "characters"},
      {"lone surrogate", R"("a":{"type":"string","x-mcp-header":"\ud800"})", "characters"},
      {"object", R"("a":{"type":"object","x-mcp-header":"A"})", "not of type"},
      {"array", R"("a":{"type":"array","items":{},"x-mcp-header":"A"})", "not of type"},
      {"null type", R"("a":{"type":"null","x-mcp-header":"A"})", "not of type"},
      {"number", R"("a":{"type":"number","x-mcp-header":"A"})", "not of type"},
      {"a number among others", R"("a":{"type":["string","number"],"x-mcp-header":"A"})",
       "not of type"},
      {"nothing but null", R"("a":{"type":["null"],"x-mcp-header":"A"})", "not of type"},
      {"no type", R"("a":{"enum":["x"],"x-mcp-header":"A"})", "not of type"},
      {"a reference", R"("a":{"$ref":"#/$defs/s","x-mcp-header":"A"})", "not of type"},
      {"twice",
       R"("a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"Region"})",
       "twice"},
      {"twice but for case",
       R"("a":{"type":"string","x-mcp-header":"MyField"},"b":{"type":"string","x-mcp-header":"myfield"})",
       "twice"},
      {"twice at different depths",
       R"("a":{"type":"string","x-mcp-header":"X"},)"
       R"("o":{"properties":{"b":{"type":"string","x-mcp-header":"x"}}})",
       "twice"},
      {"in items", R"("l":{"type":"array","items":{"type":"string","x-mcp-header":"A"}})",
       "properties alone"},
      {"in properties of items",
       R"("l":{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}})",
       "properties alone"},
      {"in prefixItems", R"("l":{"prefixItems":[{"type":"string","x-mcp-header":"A"}]})",
       "properties alone"},
      {"in oneOf", R"("a":{"oneOf":[{},{"type":"string","x-mcp-header":"A"}]})",
       "properties alone"},
      {"in not", R"("a":{"not":{"type":"string","x-mcp-header":"A"}})", "properties alone"},
      {"in then", R"("a":{"then":{"type":"string","x-mcp-header":"A"}})", "properties alone"},
      {"in additionalProperties",
       R"("a":{"additionalProperties":{"type":"string","x-mcp-header":"A"}})", "properties alone"},
      {"in patternProperties",
       R"("a":{"patternProperties":{"^x":{"type":"string","x-mcp-header":"A"}}})",
       "properties alone"},
      {"spelled with an escape", R"("a":{"type":"object","\u0078-mcp-header":"A"})", "not of type"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const ParamHeaders read = read_param_headers(object_with(c.properties));
      CHECK(read.params.empty());
      CHECK(read.problem.find(c.problem) != std::string::npos);
      for (const char byte : read.problem)
        CHECK((byte >= 0x20 && byte <= 0x7e));
    }
  }
  CHECK_FALSE(read_param_headers(R"({"type":"string","x-mcp-header":"Root"})").problem.empty());
  CHECK_FALSE(read_param_headers(R"({"$defs":{"s":{"type":"string","x-mcp-header":"A"}}})")
                  .problem.empty());
}

TEST_CASE("the annotation's name in data or as the name of a property annotates nothing") {
  const std::string schema = object_with(
      R"("x-mcp-header":{"type":"array"},)"
      R"("a":{"type":"object","default":{"x-mcp-header":""},"examples":[{"x-mcp-header":1}],)"
      R"("const":{"x-mcp-header":2},"enum":[{"x-mcp-header":3}]})");
  const ParamHeaders read = read_param_headers(schema);
  CHECK(read.problem.empty());
  CHECK(read.params.empty());
}

TEST_CASE("an argument is mirrored as the text of its value, and not at all when it is null",
          "[req:streamable-http-param-value-encoding]"
          "[req:streamable-http-x-mcp-header-client-must-mirror]") {
  struct Case {
    std::string arguments;
    std::optional<std::string> value;
  };
  const std::vector<Case> cases = {
      {R"({"o":{"v":"us-west1"}})", "us-west1"},
      {R"({"o":{"v":""}})", ""},
      {R"({"o":{"v":"us west 1"}})", "us west 1"},
      {R"({"o":{"v":" padded "}})", "=?base64?IHBhZGRlZCA=?="},
      {R"({"o":{"v":"line1\r\nline2"}})", "=?base64?bGluZTENCmxpbmUy?="},
      {R"({"o":{"v":"\tindented"}})", "=?base64?CWluZGVudGVk?="},
      {R"({"o":{"v":"=?base64?literal?="}})", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
      {R"({"o":{"v":42}})", "42"},
      {R"({"o":{"v":-7}})", "-7"},
      {R"({"o":{"v":42.0}})", "42"},
      {R"({"o":{"v":4.2e1}})", "42"},
      {R"({"o":{"v":3.5}})", "3.5"},
      {R"({"o":{"v":true}})", "true"},
      {R"({"o":{"v":false}})", "false"},
      {R"({"o":{"v":null}})", std::nullopt},
      {R"({"o":{"v":{}}})", std::nullopt},
      {R"({"o":{"v":["a"]}})", std::nullopt},
      {R"({"o":{}})", std::nullopt},
      {R"({"o":7})", std::nullopt},
      {R"({"v":"elsewhere"})", std::nullopt},
      {"", std::nullopt},
  };
  const MirroredParam param{"Mcp-Param-V", {"o", "v"}};
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.arguments) {
      CHECK(mirrored_value(c.arguments, param) == c.value);
    }
  }
}

}  // namespace
}  // namespace mcpx::mcp
