// Header fields that repeat a request's parameters, and what a Catalogue knows of a tool.
#include "upstream/mirrored.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace mcpx::upstream {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

Catalogue catalogue_of(const std::vector<std::string>& definitions) {
  Catalogue catalogue;
  for (const std::string& definition : definitions) {
    catalogue.lists[static_cast<std::size_t>(mcp::ListKind::tools)].items.push_back(
        {json::find_string(definition, "name").value_or(""), definition});
  }
  catalogue.note_traits();
  return catalogue;
}

const Catalogue& offers() {
  static const Catalogue catalogue = catalogue_of(
      {R"({"name":"sql","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},)"
       R"("n":{"type":"integer","x-mcp-header":"N"}}}})",
       R"({"name":"plain","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}})",
       R"({"name":"again","annotations":{"readOnlyHint":false,"idempotentHint":true}})",
       R"({"name":"once","annotations":{"idempotentHint":"true"}})"});
  return catalogue;
}

call::Call call_of(mcp::Method method, std::string_view params) {
  call::Call call;
  call.method = method;
  call.method_name = mcp::info(method).name;
  call.params = params;
  return call;
}

Fields fields_of(const call::Call& call, const Catalogue* offers) {
  const Mirrored mirrored(call, offers);
  std::vector<http1::Field> fields;
  mirrored.append_to(fields, call.method_name);
  Fields out;
  for (const auto& [name, value] : fields)
    out.emplace_back(name, value);
  return out;
}

TEST_CASE("every request repeats its method, and those that name something the name",
          "[req:streamable-http-standard-headers-required]"
          "[req:streamable-http-mcp-name-base64]") {
  using mcp::Method;
  CHECK(fields_of(call_of(Method::prompts_get, R"({"name":"p"})"), nullptr) ==
        Fields{{"Mcp-Method", "prompts/get"}, {"Mcp-Name", "p"}});
  CHECK(
      fields_of(call_of(Method::resources_read, R"({"uri":"file:///a b","name":"no"})"), nullptr) ==
      Fields{{"Mcp-Method", "resources/read"}, {"Mcp-Name", "file:///a b"}});
  CHECK(fields_of(call_of(Method::completion_complete, R"({"ref":{},"name":"x"})"), nullptr) ==
        Fields{{"Mcp-Method", "completion/complete"}});
  call::Call renamed = call_of(Method::tools_call, R"({"name":"server__caf"})");
  renamed.target_member = "name";
  renamed.target_value = "\"caf\\u00e9\"";
  CHECK(fields_of(renamed, nullptr) ==
        Fields{{"Mcp-Method", "tools/call"}, {"Mcp-Name", "=?base64?Y2Fmw6k=?="}});
}

TEST_CASE("annotated arguments are mirrored, others and absent ones are not",
          "[req:streamable-http-x-mcp-header-client-must-mirror]"
          "[req:streamable-http-client-header-construction]") {
  call::Call call = call_of(mcp::Method::tools_call,
                            R"({"name":"s__sql","arguments":{"region":"eu","n":null,"q":"x"}})");
  call.target_member = "name";
  call.target_value = R"("sql")";
  CHECK(fields_of(call, &offers()) ==
        Fields{{"Mcp-Method", "tools/call"}, {"Mcp-Name", "sql"}, {"Mcp-Param-Region", "eu"}});
  auto message = rpc::parse(
      PaddedBuffer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                   R"("params":{"name":"s__sql","arguments":{"region":"\r\n","n":4.0}}})"),
      json::Limits());
  REQUIRE(message.has_value());
  call.message = &*message;
  call.params = message->params;
  CHECK(fields_of(call, &offers()) == Fields{{"Mcp-Method", "tools/call"},
                                             {"Mcp-Name", "sql"},
                                             {"Mcp-Param-Region", "=?base64?DQo=?="},
                                             {"Mcp-Param-N", "4"}});
  call.target_value = R"("plain")";
  CHECK(fields_of(call, &offers()) == Fields{{"Mcp-Method", "tools/call"}, {"Mcp-Name", "plain"}});
}

TEST_CASE("a tool is repeatable when its server says so with a true hint") {
  CHECK(offers().repeatable("plain"));
  CHECK(offers().repeatable("again"));
  CHECK_FALSE(offers().repeatable("once"));
  CHECK_FALSE(offers().repeatable("sql"));
  CHECK_FALSE(offers().repeatable("unknown"));
  CHECK(offers().traits_of("once") == nullptr);
}

}  // namespace
}  // namespace mcpx::upstream
