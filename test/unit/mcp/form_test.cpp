// Contents of forms by their schema (2025-11-25 client/elicitation).
#include "mcp/form.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace mcpx::mcp {
namespace {

struct Case {
  std::string field, good, bad;
};

const Case kCases[] = {
    {R"({"type":"string"})", R"("x")", "1"},
    {R"({"type":"string","minLength":2,"maxLength":3})", "\"\u00e4\u00e4\u00e4\"", R"("abcd")"},
    {R"({"type":"string","minLength":2})", R"("ab")", R"("\u00e4")"},
    {R"({"type":"string","format":"email"})", R"("a@b.example")", R"("a.example")"},
    {R"({"type":"string","format":"date"})", R"("2026-07-28")", R"("2026-13-28")"},
    {R"({"type":"string","format":"date-time"})", R"("2026-07-28T10:00:00Z")", R"("2026-07-28")"},
    {R"({"type":"string","format":"uri"})", R"("https://a.example/")", R"("a b")"},
    {R"({"type":"string","enum":["a","b"]})", R"("b")", R"("c")"},
    {R"({"type":"string","oneOf":[{"const":"a","title":"A"}]})", R"("a")", R"("A")"},
    {R"({"type":"number","minimum":1,"maximum":2.5})", "2.5", "2.51"},
    {R"({"type":"integer"})", "3.0", "3.5"},
    {R"({"type":"boolean"})", "false", R"("false")"},
    {R"({"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1})", R"(["a"])",
     "[]"},
    {R"({"type":"array","items":{"anyOf":[{"const":"a"}]}})", R"(["a"])", R"(["b"])"},
    {R"({"type":"array","items":{"enum":["a"]},"maxItems":1})", R"(["a"])", R"(["a","a"])"},
};

TEST_CASE("form: each kind of field takes what fits it") {
  for (const Case& c : kCases) {
    DYNAMIC_SECTION(c.field << " with " << c.bad) {
      const std::string schema = R"({"type":"object","properties":{"f":)" + c.field + "}}";
      CHECK(form_problems(schema, "{\"f\":" + c.good + "}").empty());
      CHECK(form_problems(schema, "{\"f\":" + c.bad + "}").size() == 1);
    }
  }
}

TEST_CASE("form: what is required is missed, and what is not asked for is refused") {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]})";
  CHECK(form_problems(schema, R"({"a":"x"})").empty());
  CHECK(form_problems(schema, R"({"b":"x"})").size() == 1);
  CHECK(form_problems(schema, R"({"a":"x","c":1})").size() == 1);
  CHECK(form_problems(schema, "[]").size() == 1);
  CHECK(form_problems("{}", "{}").empty());
  CHECK(form_problems(schema, R"({"a":"x","a":1})").size() == 1);
  CHECK(form_problems(schema, R"({"a":"x","\u0061":"y"})").size() == 1);
}

TEST_CASE("form: fields for credentials are recognised by name, title and format") {
  const auto found = sensitive_fields(
      R"({"properties":{"name":{"type":"string"},"x":{"type":"string","title":"Your API key"},)"
      R"("y":{"type":"string","format":"password"},"max_tokens":{"type":"integer"}}})");
  CHECK(found == std::vector<std::string>{"x", "y"});
}

}  // namespace
}  // namespace mcpx::mcp
