// Mcp-Param-*: which arguments are mirrored, and whether they are.
#include "downstream/param_headers.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace mcpx::downstream {
namespace {

const char* const kSchema =
    R"({"type":"object","properties":{)"
    R"("region":{"type":"string","x-mcp-header":"Region"},)"
    R"("limit":{"type":"integer","x-mcp-header":"Limit"},)"
    R"("dry":{"type":"boolean","x-mcp-header":"Dry"},)"
    R"("where":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},)"
    R"("free":{"type":"string"}}})";

TEST_CASE("a mirrored argument must be there and say the same",
          "[req:streamable-http-server-validates-param-headers]"
          "[req:streamable-http-numeric-compare]") {
  struct Case {
    std::string name;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string arguments;
    bool good;
  };
  const std::vector<Case> cases = {
      {"nothing given", {}, "{}", true},
      {"null is not given", {}, R"({"region":null})", true},
      {"a string", {{"mcp-param-region", "us-west1"}}, R"({"region":"us-west1"})", true},
      {"another string", {{"Mcp-Param-Region", "us-east1"}}, R"({"region":"us-west1"})", false},
      {"case matters", {{"Mcp-Param-Region", "US-WEST1"}}, R"({"region":"us-west1"})", false},
      {"no field", {}, R"({"region":"us-west1"})", false},
      {"a field without an argument", {{"Mcp-Param-Region", "x"}}, "{}", false},
      {"repeated",
       {{"Mcp-Param-Region", "x"}, {"Mcp-Param-Region", "y"}},
       R"({"region":"x"})",
       false},
      {"Base64",
       {{"Mcp-Param-Region", "=?base64?IHBhZGRlZCA=?="}},
       R"({"region":" padded "})",
       true},
      {"Base64 without its padding",
       {{"Mcp-Param-Region", "=?base64?IHBhZGRlZCA?="}},
       R"({"region":" padded "})",
       false},
      {"Base64 with other characters",
       {{"Mcp-Param-Region", "=?base64?IHBh*GRlZCA=?="}},
       R"({"region":" padded "})",
       false},
      {"half a wrapper is literal",
       {{"Mcp-Param-Region", "=?base64?abc"}},
       R"({"region":"=?base64?abc"})",
       true},
      {"an integer", {{"Mcp-Param-Limit", "42"}}, R"({"limit":42})", true},
      {"an integer as a decimal", {{"Mcp-Param-Limit", "42.0"}}, R"({"limit":42})", true},
      {"another integer", {{"Mcp-Param-Limit", "43"}}, R"({"limit":42})", false},
      {"no integer", {{"Mcp-Param-Limit", "42x"}}, R"({"limit":42})", false},
      {"a boolean", {{"Mcp-Param-Dry", "true"}}, R"({"dry":true})", true},
      {"another boolean", {{"Mcp-Param-Dry", "True"}}, R"({"dry":true})", false},
      {"nested", {{"Mcp-Param-Zone", "a"}}, R"({"where":{"zone":"a"}})", true},
      {"nested, missing", {}, R"({"where":{"zone":"a"}})", false},
      {"a field no schema names", {{"Mcp-Param-Free", "z"}}, R"({"free":"a"})", true},
  };
  const auto params = mcp::read_param_headers(kSchema).params;
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      http1::Fields fields;
      for (const auto& [name, value] : c.fields)
        fields.add(name, value);
      CHECK(mismatched_param(fields, params, c.arguments).has_value() == !c.good);
    }
  }
}

}  // namespace
}  // namespace mcpx::downstream
