#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "json/json.hpp"
#include "mcp/spelling.hpp"

namespace mcpx::mcp {
namespace {

using enum Revision;

constexpr const char* kInfo = R"({"name":"mcpx","version":"1"})";

std::string spelled(Method method, const std::string& result, Revision from, Revision to,
                    std::string_view server_info = kInfo) {
  ResultContext context;
  context.from = from;
  context.to = to;
  context.server_info = server_info;
  context.cache.ttl_ms = 5000;
  std::string out = ">";  // whatever is there stays
  append_result_for(out, method, result, context);
  REQUIRE(out.front() == '>');
  return out.substr(1);
}

std::string to_modern(Method method, const std::string& result) {
  return spelled(method, result, r2025_11_25, r2026_07_28);
}

std::string call(const std::string& result, Revision to) {
  return spelled(Method::tools_call, result, r2026_07_28, to);
}

std::string definition(ListKind kind, const std::string& text, Revision to) {
  std::string out;
  append_definition_for(out, kind, text, to);
  return out;
}

TEST_CASE("a modern caller gets resultType and serverInfo",
          "[req:messages-resulttype-required][req:messages-resulttype-server-must-include]"
          "[req:meta-server-should-send-serverinfo]") {
  REQUIRE(to_modern(Method::tools_call, R"({"content":[]})") ==
          R"({"content":[],"resultType":"complete",)"
          R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpx","version":"1"}}})");
  REQUIRE(to_modern(Method::completion_complete, "{}") ==
          R"({"resultType":"complete",)"
          R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpx","version":"1"}}})");
  REQUIRE(spelled(Method::tools_call, R"({"content":[]})", r2025_06_18, r2026_07_28, "") ==
          R"({"content":[],"resultType":"complete"})");
}

TEST_CASE("serverInfo joins the _meta that is there") {
  REQUIRE(to_modern(Method::tools_call, R"({"_meta": { "a" : 1 } ,"content":[]})") ==
          R"({"_meta": { "a" : 1 ,"io.modelcontextprotocol/serverInfo":)"
          R"({"name":"mcpx","version":"1"}} ,"content":[],"resultType":"complete"})");
  REQUIRE(to_modern(Method::tools_call, R"({"_meta":{},"content":[]})") ==
          R"({"_meta":{"io.modelcontextprotocol/serverInfo":)"
          R"({"name":"mcpx","version":"1"}},"content":[],"resultType":"complete"})");
}

TEST_CASE("what a modern server said about itself is kept, in bytes") {
  const std::string complete =
      R"({ "resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":)"
      R"({"name":"up","version":"2"}},"tools":[],"ttlMs":1,"cacheScope":"public" })";
  REQUIRE(spelled(Method::tools_list, complete, r2026_07_28, r2026_07_28) == complete);
  const std::string odd = R"({"resultType":"task","taskId":"t","_meta":null})";
  REQUIRE(spelled(Method::tools_call, odd, r2026_07_28, r2026_07_28) == odd);
}

TEST_CASE("cacheable results get the hints they lack",
          "[req:caching-server-must-hint][req:cache-ttl-scope-required][req:discover-cacheable]"
          "[req:caching-ttl-non-negative]") {
  for (const Method method :
       {Method::server_discover, Method::tools_list, Method::prompts_list, Method::resources_list,
        Method::resources_templates_list, Method::resources_read}) {
    CAPTURE(info(method).name);
    REQUIRE(spelled(method, R"({"x":1})", r2025_11_25, r2026_07_28, "") ==
            R"({"x":1,"resultType":"complete","ttlMs":5000,"cacheScope":"private"})");
  }
  REQUIRE(spelled(Method::tools_list, R"({"ttlMs":0})", r2026_07_28, r2026_07_28, "") ==
          R"({"ttlMs":0,"resultType":"complete","cacheScope":"private"})");
  ResultContext open;
  open.to = r2026_07_28;
  open.cache.is_private = false;
  std::string out;
  append_result_for(out, Method::tools_list, R"({"cacheScope":"private"})", open);
  REQUIRE(out == R"({"cacheScope":"private","resultType":"complete","ttlMs":0})");
  out.clear();
  append_result_for(out, Method::tools_list, "{}", open);
  REQUIRE(out == R"({"resultType":"complete","ttlMs":0,"cacheScope":"public"})");
}

TEST_CASE("an interim result gets no cache hints", "[req:caching-input-required-no-hints]") {
  const std::string interim = R"({"resultType":"input_required","requestState":"s"})";
  REQUIRE(spelled(Method::resources_read, interim, r2026_07_28, r2026_07_28, "") == interim);
}

TEST_CASE("the type of a result is read, and an unknown one is not taken for complete",
          "[req:messages-resulttype-absent-means-complete]"
          "[req:messages-resulttype-unknown-invalid]") {
  REQUIRE(result_type_of("{}") == ResultType::complete);
  REQUIRE(result_type_of(R"({"resultType":"complete"})") == ResultType::complete);
  REQUIRE(result_type_of(R"({"resultType":"input_required"})") == ResultType::input_required);
  REQUIRE(result_type_of(R"({"resultType":"task"})") == ResultType::task);
  REQUIRE(result_type_of(R"({"resultType":"Complete"})") == ResultType::unknown);
  REQUIRE(result_type_of(R"({"resultType":7})") == ResultType::unknown);
}

TEST_CASE("a legacy caller gets nothing that only modern results have") {
  const std::string modern =
      R"({"resultType":"complete", "tools":[], "ttlMs":1, "nextCursor":"c", "cacheScope":"public",)"
      R"( "_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1}})";
  for (const Revision to : {r2024_11_05, r2025_03_26, r2025_06_18, r2025_11_25}) {
    REQUIRE(spelled(Method::tools_list, modern, r2026_07_28, to) ==
            R"({"tools":[], "nextCursor":"c", "_meta":{"a":1}})");
  }
}

TEST_CASE("a _meta of protocol keys alone goes as a whole; an empty one was empty before") {
  REQUIRE(call(R"({"content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}})",
               r2025_11_25) == R"({"content":[]})");
  REQUIRE(call(R"({"_meta":{},"content":[]})", r2024_11_05) == R"({"_meta":{},"content":[]})");
  REQUIRE(call(R"({"resultType":"complete"})", r2024_11_05) == "{}");
}

TEST_CASE("members go wherever they stand, with their commas") {
  const auto read = [](const char* text) {
    return spelled(Method::resources_read, text, r2026_07_28, r2025_11_25);
  };
  REQUIRE(read(R"({"ttlMs":1,"contents":[]})") == R"({"contents":[]})");
  REQUIRE(read(R"({"contents":[],"ttlMs":1})") == R"({"contents":[]})");
  REQUIRE(read(R"({"ttlMs":1,"cacheScope":"public","contents":[]})") == R"({"contents":[]})");
  REQUIRE(read(R"({"contents":[],"ttlMs":1,"cacheScope":"public"})") == R"({"contents":[]})");
  REQUIRE(read(R"({"ttlMs":1,"a":0,"cacheScope":"","b":0,"resultType":""})") == R"({"a":0,"b":0})");
  REQUIRE(read(R"({ "ttlMs" : 1 })") == "{  }");
  REQUIRE(read(R"({"ttlMs":1,"ttlMs":2,"a":0,"ttlMs":3})") == R"({"a":0})");
  REQUIRE(read(R"({"\u0074tlMs":1,"a":0})") == R"({"a":0})");
}

TEST_CASE("audio becomes text for 2024-11-05, saying what it was") {
  const std::string audio =
      R"({"content":[{"type":"audio","data":"AAAAAAA=","mimeType":"audio/wav",)"
      R"("annotations":{"priority":1,"lastModified":"2025-01-01"},"_meta":{}}]})";
  REQUIRE(call(audio, r2024_11_05) ==
          R"({"content":[{"type":"text","text":"[audio, audio/wav, 5 bytes: not representable in )"
          R"(MCP 2024-11-05]","annotations":{"priority":1}}]})");
  REQUIRE(call(audio, r2025_03_26) ==
          R"({"content":[{"type":"audio","data":"AAAAAAA=","mimeType":"audio/wav",)"
          R"("annotations":{"priority":1}}]})");
  REQUIRE(call(audio, r2025_06_18) == audio);
  REQUIRE(call(R"({"content":[{"type":"audio"}]})", r2024_11_05).find("0 bytes") !=
          std::string::npos);
}

TEST_CASE("a resource link becomes text before 2025-06-18, with its name and URI",
          "[req:tools-resource-link-may]") {
  const std::string link =
      R"({"content":[{"type":"resource_link","name":"n\"q","uri":"mcpx://s/x:y","mimeType":"a/b",)"
      R"("description":"what","icons":[]}]})";
  for (const Revision to : {r2024_11_05, r2025_03_26}) {
    REQUIRE(call(link, to) == R"({"content":[{"type":"text","text":)"
                              R"("[resource: n\"q, mcpx://s/x:y, a/b] what"}]})");
  }
  REQUIRE(call(link, r2025_06_18) ==
          R"({"content":[{"type":"resource_link","name":"n\"q","uri":"mcpx://s/x:y",)"
          R"("mimeType":"a/b","description":"what"}]})");
  REQUIRE(call(link, r2025_11_25) == link);
}

TEST_CASE("an embedded resource stays, without the _meta of its newer self",
          "[req:tools-embedded-resource-may]") {
  const std::string embedded =
      R"({"content":[{"type":"resource","_meta":{"a":1},"resource":{"uri":"x:y","text":"t",)"
      R"("_meta":{"b":1},"other":0}}]})";
  REQUIRE(call(embedded, r2025_03_26) ==
          R"({"content":[{"type":"resource","resource":{"uri":"x:y","text":"t","other":0}}]})");
  REQUIRE(call(embedded, r2025_06_18) == embedded);
}

TEST_CASE("prompts and read resources are spelled in depth too") {
  REQUIRE(spelled(Method::prompts_get,
                  R"({"messages":[{"role":"user","content":{"type":"text","text":"t",)"
                  R"("_meta":{}}},{"role":"user","content":{"type":"audio","data":"",)"
                  R"("mimeType":"audio/wav"}}],"resultType":"complete"})",
                  r2026_07_28, r2024_11_05) ==
          R"({"messages":[{"role":"user","content":{"type":"text","text":"t"}},{"role":"user",)"
          R"("content":{"type":"text","text":"[audio, audio/wav, 0 bytes: not representable in )"
          R"(MCP 2024-11-05]"}}]})");
  REQUIRE(spelled(Method::resources_read, R"({"contents":[{"uri":"x:y","_meta":{},"blob":""}]})",
                  r2025_11_25, r2025_03_26) == R"({"contents":[{"uri":"x:y","blob":""}]})");
}

TEST_CASE(
    "structured content is not sent before 2025-06-18, and text says it where nothing else does",
    "[req:tools-structured-also-text]") {
  const std::string seen = R"({"content":[{"type":"text","text":"seen"}],"structuredContent":)";
  REQUIRE(call(seen + R"({"a":1.0}})", r2025_03_26) ==
          R"({"content":[{"type":"text","text":"seen"},{"type":"text","text":"{\"a\":1.0}"}]})");
  REQUIRE(call(seen + "[7]}", r2025_11_25) ==
          R"({"content":[{"type":"text","text":"seen"},{"type":"text","text":"[7]"}]})");
  REQUIRE(call(R"({"structuredContent":{"a":1},"content":[{"type":"audio","data":"",)"
               R"("mimeType":"audio/wav"} ]})",
               r2024_11_05) ==
          R"({"content":[{"type":"text","text":"[audio, audio/wav, 0 bytes: not representable in )"
          R"(MCP 2024-11-05]"},{"type":"text","text":"{\"a\":1}"} ]})");
  REQUIRE(call(R"({"content":[ ],"structuredContent":{"a":1.0}})", r2024_11_05) ==
          R"({"content":[{"type":"text","text":"{\"a\":1.0}"} ]})");
  REQUIRE(call(R"({"structuredContent":{"a":1.0},"isError":true})", r2024_11_05) ==
          R"({"isError":true,"content":[{"type":"text","text":"{\"a\":1.0}"}]})");
}

TEST_CASE("structured content that a text repeats is not said again") {
  const auto texts = [](const std::string& text, const std::string& structured) {
    std::string result = R"({"content":[{"type":"image","data":"","mimeType":"a/b"},)"
                         R"({"type":"text","text":)";
    result += text + R"(}],"structuredContent":)" + structured + "}";
    std::size_t count = 0;
    const std::string out = call(result, r2025_03_26);
    json::Elements blocks(*json::find(out, "content"));
    while (const auto block = blocks.next())
      count += json::find_string(*block, "type") == "text" ? 1 : 0;
    return count;
  };
  const std::string structured = R"({"a":[1.0,"\u00e9 x"],"b":{}})";
  REQUIRE(texts(R"("{\"a\":[1.0,\"\u00e9 x\"],\"b\":{}}")", structured) == 1);
  REQUIRE(texts(R"(" {\n  \"a\": [ 1.0, \"\\u00e9 x\" ],\n  \"b\": {}\n}\n")", structured) == 1);
  for (const char* other :
       {R"("")", R"("{")", R"("{\"a\":[1.0,\"\u00e9x\"],\"b\":{}}")", R"("{\"a\":[1.0,\"")",
        R"("{\"a\":[1.0,\"\u00e9 x\"],\"b\":{}} and more")",
        R"("{\"a\":[1.0,\"\u00e9 x\"],\"b\":{")", R"("\"")", "7"}) {
    CAPTURE(other);
    REQUIRE(texts(other, structured) == 2);
  }
  REQUIRE(texts(R"("\"")", R"("")") == 2);
}

TEST_CASE("structured content that is no object reaches modern callers only",
          "[req:tools-structured-any-json][req:tools-structured-object-only]") {
  const std::string array = R"({"content":[],"structuredContent":[1,"x"]})";
  const std::string as_text = R"({"content":[{"type":"text","text":"[1,\"x\"]"}]})";
  for (const Revision to : {r2024_11_05, r2025_03_26, r2025_06_18, r2025_11_25}) {
    REQUIRE(call(array, to) == as_text);
  }
  REQUIRE(spelled(Method::tools_call, array, r2026_07_28, r2026_07_28, "") ==
          R"({"content":[],"structuredContent":[1,"x"],"resultType":"complete"})");
  REQUIRE(call(R"({"structuredContent":null,"content":[]})", r2025_11_25) ==
          R"({"content":[{"type":"text","text":"null"}]})");
  const std::string object = R"({"content":[],"structuredContent":{"a":[1,"x"]}})";
  REQUIRE(call(object, r2025_06_18) == object);
}

TEST_CASE("C32: a tool keeps every member that the caller's revision has") {
  const std::string tool =
      R"({"name":"t","title":"T","description":"d","icons":[{"src":"x"}],)"
      R"("inputSchema":{"type":"object","$schema":"s","title":"kept","x-y":1.0},)"
      R"("outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"title":"a"},)"
      R"("execution":{"taskSupport":"optional"},"unknown":[null],"_meta":{"k":1}})";
  const std::string schema =
      R"("inputSchema":{"type":"object","$schema":"s","title":"kept","x-y":1.0},)";
  REQUIRE(definition(ListKind::tools, tool, r2024_11_05) ==
          R"({"name":"t","description":"d",)" + schema + R"("unknown":[null]})");
  REQUIRE(definition(ListKind::tools, tool, r2025_03_26) ==
          R"({"name":"t","description":"d",)" + schema +
              R"("annotations":{"readOnlyHint":false,"title":"a"},"unknown":[null]})");
  REQUIRE(
      definition(ListKind::tools, tool, r2025_06_18) ==
      R"({"name":"t","title":"T","description":"d",)" + schema +
          R"("outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"title":"a"},)"
          R"("unknown":[null],"_meta":{"k":1}})");
  REQUIRE(definition(ListKind::tools, tool, r2025_11_25) == tool);
  // 2025-11-25 alone has `execution`.
  REQUIRE(
      definition(ListKind::tools, tool, r2026_07_28) ==
      R"({"name":"t","title":"T","description":"d","icons":[{"src":"x"}],)" + schema +
          R"("outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"title":"a"},)"
          R"("unknown":[null],"_meta":{"k":1}})");
}

TEST_CASE("a key of _meta that passed with its revision reaches no other") {
  const std::string task = R"({"content":[],"_meta":{"a":1,"io.modelcontextprotocol/related-task":)"
                           R"({"taskId":"x"}}})";
  for (const Revision to : {r2024_11_05, r2025_03_26, r2025_06_18}) {
    REQUIRE(spelled(Method::tools_call, task, r2025_11_25, to) ==
            R"({"content":[],"_meta":{"a":1}})");
  }
  REQUIRE(spelled(Method::tools_call, task, r2025_11_25, r2025_11_25) == task);
  REQUIRE(spelled(Method::tools_call, task, r2025_11_25, r2026_07_28, "") ==
          R"({"content":[],"_meta":{"a":1},"resultType":"complete"})");
}

TEST_CASE("an outputSchema that is no schema of an object reaches modern callers only",
          "[req:tools-output-schema-object-root]") {
  for (const char* schema :
       {R"({"type":"array"})", R"({"anyOf":[]})", "true",
        R"({"type":"object","properties":{"a":1}})", R"({"type":"object","properties":[]})"}) {
    CAPTURE(schema);
    const std::string tool = std::string(R"({"name":"t","outputSchema":)") + schema + "}";
    REQUIRE(definition(ListKind::tools, tool, r2025_06_18) == R"({"name":"t"})");
    REQUIRE(definition(ListKind::tools, tool, r2025_11_25) == R"({"name":"t"})");
    REQUIRE(definition(ListKind::tools, tool, r2026_07_28) == tool);
  }
}

TEST_CASE("what a schema says is never touched") {
  const std::string tool =
      R"({"inputSchema":{"type":"object","properties":{"_meta":{"title":"x"},"icons":{"not":true}},)"
      R"("outputSchema":1,"_meta":{"io.modelcontextprotocol/serverInfo":1}},"name":"t"})";
  for (const Revision to : kAllRevisions) {
    REQUIRE(definition(ListKind::tools, tool, to) == tool);
  }
}

TEST_CASE("a property whose schema is true or false is written as an object for legacy callers") {
  const std::string odd =
      R"({"type":"object","properties":{"a":true,"b":{"c":true}, "d" : false}})";
  const std::string same =
      R"({"type":"object","properties":{"a":{},"b":{"c":true}, "d" : {"not":{}}}})";
  const auto tool = [](const std::string& schema) {
    return R"({"name":"t","inputSchema":)" + schema + R"(,"outputSchema":)" + schema + "}";
  };
  REQUIRE(definition(ListKind::tools, tool(odd), r2026_07_28) == tool(odd));
  REQUIRE(definition(ListKind::tools, tool(odd), r2025_11_25) == tool(same));
  REQUIRE(definition(ListKind::tools, tool(odd), r2025_06_18) == tool(same));
  REQUIRE(definition(ListKind::tools, tool(odd), r2024_11_05) ==
          R"({"name":"t","inputSchema":)" + same + "}");
}

TEST_CASE("prompts, resources and templates are spelled by revision",
          "[req:resources-annotations-defs]") {
  REQUIRE(definition(ListKind::prompts,
                     R"({"name":"p","title":"P","arguments":[{"title":"A","name":"a"}],)"
                     R"("icons":[],"_meta":{}})",
                     r2025_03_26) == R"({"name":"p","arguments":[{"name":"a"}]})");
  REQUIRE(definition(ListKind::resources,
                     R"({"uri":"x:y","name":"r","title":"R","size":7,"annotations":)"
                     R"({"lastModified":"t","audience":["user"]}})",
                     r2024_11_05) ==
          R"({"uri":"x:y","name":"r","size":7,"annotations":{"audience":["user"]}})");
  REQUIRE(definition(ListKind::resource_templates,
                     R"({"uriTemplate":"x:{y}","icons":[],"title":"T","_meta":{},"name":"n"})",
                     r2025_06_18) ==
          R"({"uriTemplate":"x:{y}","title":"T","_meta":{},"name":"n"})");
}

TEST_CASE("a list that passes whole has its definitions spelled") {
  REQUIRE(spelled(Method::tools_list, R"({"tools":[{"name":"a","title":"A"},{"name":"b"}]})",
                  r2025_11_25, r2025_03_26) == R"({"tools":[{"name":"a"},{"name":"b"}]})");
}

TEST_CASE("an implementation and notifications are spelled by revision") {
  std::string out;
  append_implementation_for(
      out,
      R"({"name":"n","title":"t","version":"1","description":"d","websiteUrl":"w","icons":[]})",
      r2025_06_18);
  REQUIRE(out == R"({"name":"n","title":"t","version":"1"})");
  out.clear();
  append_notification_params_for(
      out, Method::notify_progress,
      R"({"progressToken":1,"progress":1.0,"message":"m","_meta":)"
      R"({"io.modelcontextprotocol/subscriptionId":1,"traceparent":"t"}})",
      r2024_11_05);
  REQUIRE(out == R"({"progressToken":1,"progress":1.0,"_meta":{"traceparent":"t"}})");
  out.clear();
  append_notification_params_for(out, Method::notify_message, R"({"level":"info","message":"m"})",
                                 r2024_11_05);
  REQUIRE(out == R"({"level":"info","message":"m"})");
}

TEST_CASE("initialize: the identity is spelled for the version agreed") {
  REQUIRE(spelled(Method::initialize, R"({"serverInfo":{"name":"n","icons":[]}})", r2026_07_28,
                  r2025_06_18) == R"({"serverInfo":{"name":"n"}})");
}

TEST_CASE("what is no object passes as it is") {
  for (const char* odd : {"null", "[]", "7", "\"x\""}) {
    REQUIRE(call(odd, r2024_11_05) == odd);
    REQUIRE(call(odd, r2026_07_28) == odd);
    REQUIRE(definition(ListKind::tools, odd, r2024_11_05) == odd);
  }
  const std::string odd = R"({"content":{"type":"audio"},"_meta":7,"structuredContent":{}})";
  REQUIRE(call(odd, r2024_11_05) == R"({"content":{"type":"audio"},"_meta":7})");
  const std::string blocks = R"({"content":[7,null,{"type":5},{},[]]})";
  REQUIRE(call(blocks, r2024_11_05) == blocks);
}

}  // namespace
}  // namespace mcpx::mcp
