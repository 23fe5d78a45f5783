#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/probe.hpp"
#include "upstream/hop.hpp"

namespace mcpx::upstream {
namespace {

using mcp::Method;
using mcp::Revision;

constexpr std::string_view kInfo = R"({"name":"mcpx","version":"0"})";

call::Call call_of(Method method, std::string_view params, Revision caller) {
  call::Call call;
  call.method = method;
  call.method_name = mcp::info(method).name;
  call.params = params;
  call.caller.revision = caller;
  return call;
}

HopContext to(Revision revision, std::string_view token = {}) {
  HopContext context;
  context.to = revision;
  context.client_info = kInfo;
  context.progress_token = token;
  return context;
}

TEST_CASE("between legacy revisions only the name changes, to the byte") {
  auto call = call_of(
      Method::tools_call,
      "{ \"x\" : 1.0, \"name\":\"s__t\" ,\"arguments\":{\"a\":1e400}, \"_meta\":{\"k\":2} }",
      Revision::r2025_06_18);
  call.target_member = "name";
  call.target_value = "\"t\"";
  REQUIRE(hop_params(call, to(Revision::r2025_11_25)) ==
          "{ \"x\" : 1.0, \"name\":\"t\" ,\"arguments\":{\"a\":1e400}, \"_meta\":{\"k\":2} }");
}

TEST_CASE("C35: a tool without arguments is called with an empty object, and nothing is invented") {
  for (const char* params : {R"({"name":"t"})", R"({"name":"t","arguments":null})"}) {
    const auto call = call_of(Method::tools_call, params, Revision::r2025_11_25);
    REQUIRE(hop_params(call, to(Revision::r2025_11_25)) == R"({"name":"t","arguments":{}})");
  }
  const auto given =
      call_of(Method::tools_call, R"({"name":"t","arguments":{}})", Revision::r2025_11_25);
  REQUIRE(hop_params(given, to(Revision::r2025_11_25)) == given.params);
  const auto prompt = call_of(Method::prompts_get, R"({"name":"p"})", Revision::r2025_11_25);
  REQUIRE(hop_params(prompt, to(Revision::r2025_11_25)) == prompt.params);
}

TEST_CASE("a modern server gets the members of _meta that the revision asks for",
          "[req:meta-request-params-meta-required][req:meta-client-should-send-clientinfo]") {
  const auto call = call_of(
      Method::tools_call,
      R"({"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"ide"},)"
      R"("traceparent":"00-1","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},)"
      R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":"mine"}})",
      Revision::r2026_07_28);
  auto with = call;
  with.caller.client_capabilities = R"({"elicitation":{}})";
  const std::string params = hop_params(with, to(Revision::r2026_07_28, "17"));
  const auto meta = json::find(params, "_meta").value();
  REQUIRE(json::find_string(meta, "io.modelcontextprotocol/protocolVersion") == "2026-07-28");
  REQUIRE(json::find(meta, "io.modelcontextprotocol/clientInfo") == R"({"name":"ide"})");
  REQUIRE(json::find(meta, "io.modelcontextprotocol/clientCapabilities") ==
          R"({"elicitation":{}})");
  REQUIRE(json::find(meta, "progressToken") == "17");
  REQUIRE(json::find_string(meta, "traceparent") == "00-1");
}

TEST_CASE("a legacy server gets no answers to questions it cannot have asked") {
  const std::string_view params =
      R"({"name":"t","inputResponses":{"q":{"action":"accept"}},"arguments":{},"requestState":"s"})";
  const auto modern = call_of(Method::tools_call, params, Revision::r2026_07_28);
  REQUIRE(hop_params(modern, to(Revision::r2025_11_25)) == R"({"name":"t","arguments":{}})");
  const std::string passed = hop_params(modern, to(Revision::r2026_07_28));
  REQUIRE(json::find(passed, "inputResponses").value() == R"({"q":{"action":"accept"}})");
  REQUIRE(json::find_string(passed, "requestState") == "s");
  // To legacy callers the members mean nothing: they pass as anything unknown does.
  const auto legacy = call_of(Method::tools_call, params, Revision::r2025_11_25);
  REQUIRE(hop_params(legacy, to(Revision::r2025_11_25)) == params);
}

TEST_CASE("a legacy server never sees a modern caller's reserved _meta") {
  auto call =
      call_of(Method::tools_call,
              R"({"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/clientInfo":{},)"
              R"("io.modelcontextprotocol/clientCapabilities":{},"progressToken":1,)"
              R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}})",
              Revision::r2026_07_28);
  REQUIRE(hop_params(call, to(Revision::r2025_11_25)) == R"({"name":"t","arguments":{}})");
  call.params = R"({"name":"t","arguments":{},"_meta":{"tracestate":"a=b","progressToken":1}})";
  REQUIRE(hop_params(call, to(Revision::r2025_11_25, "5")) ==
          R"({"name":"t","arguments":{},"_meta":{"tracestate":"a=b","progressToken":5}})");
}

TEST_CASE("a legacy caller declares nothing to a modern server; its log level goes along") {
  auto call = call_of(Method::tools_call, R"({"name":"t","arguments":{}})", Revision::r2025_06_18);
  call.caller.client_capabilities = R"({"elicitation":{}})";
  call.caller.log_level = "warning";
  const std::string params = hop_params(call, to(Revision::r2026_07_28));
  const auto meta = json::find(params, "_meta").value();
  REQUIRE(json::find(meta, "io.modelcontextprotocol/clientCapabilities") == "{}");
  REQUIRE(json::find_string(meta, "io.modelcontextprotocol/logLevel") == "warning");
  REQUIRE_FALSE(json::find(meta, "progressToken"));
}

TEST_CASE("the extensions of a legacy caller go along to a modern server") {
  auto call = call_of(Method::tools_call, R"({"name":"t","arguments":{}})", Revision::r2025_06_18);
  call.caller.extensions = R"({"com.example/x":{"a":1.0}})";
  const std::string params = hop_params(call, to(Revision::r2026_07_28));
  REQUIRE(json::find(params, "_meta", "io.modelcontextprotocol/clientCapabilities") ==
          R"({"extensions":{"com.example/x":{"a":1.0}}})");
  REQUIRE(hop_params(call, to(Revision::r2025_11_25)) == call.params);
}

TEST_CASE("absent params and a _meta of the wrong kind do no harm") {
  const auto none = call_of(Method::prompts_list, {}, Revision::r2025_11_25);
  REQUIRE(hop_params(none, to(Revision::r2025_11_25)) == "{}");
  const auto wrong =
      call_of(Method::prompts_get, R"({"name":"p","_meta":7})", Revision::r2025_11_25);
  REQUIRE(hop_params(wrong, to(Revision::r2026_07_28)) == wrong.params);
}

// The two ways of hop_params must agree: the one for calls that were parsed, and the searching one.
void check_both_ways(const char* text, Revision from, Revision to_server, std::string_view token) {
  CAPTURE(text, mcp::text(from), mcp::text(to_server), token);
  std::string whole = R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)";
  const auto message = rpc::parse(PaddedBuffer(whole + text + "}"), json::Limits());
  REQUIRE(message.has_value());
  auto call = call_of(Method::tools_call, message->params, from);
  call.target_member = "name";
  call.target_value = "\"t\"";
  call.caller.client_capabilities =
      json::find(message->meta, mcp::kMetaClientCapabilities).value_or(json::Raw());
  const std::string meta = mcp::modern_meta(Revision::r2026_07_28, kInfo, "{}");
  HopContext context = to(to_server, token);
  context.plain_meta = meta;
  const std::string searched = hop_params(call, context);
  call.message = &*message;
  REQUIRE(hop_params(call, context) == searched);
  REQUIRE(json::validate(searched, json::Limits()).has_value());
}

#define MODERN_META                                            \
  R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)" \
  R"("io.modelcontextprotocol/clientInfo":{"name":"ide"},)"    \
  R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}})"

TEST_CASE("a parsed call is sent as a searched one would be") {
  const char* legacy[] = {
      R"({"name":"s__t","arguments":{"a":"x"}})",
      R"({ "arguments" : {"name":"no"} , "name" : "s__t" })",
      R"({"name":"s__t"})",
      R"({"name":"s__t","arguments":null})",
      R"({"name":"s__t","arguments":{},"_meta":{"k":1}})",
      R"({"_meta" : { "k" : 1 } , "name":"s__t","arguments":{} })",
      R"({"name":"s__t","arguments":{},"_meta":{"progressToken":"p","k":1}})",
      R"({"name":"s__t","arguments":{},"_meta":{"progressToken":null,"k":1}})",
      R"({"name":"s__t","arguments":{},"_meta":{"progress\u0054oken":7,"k":1}})",
      R"({"name":"s__t","arguments":{},"_meta":{ }})",
      R"({"name":"s__t","arguments":{},"_meta":7})",
      R"({"n\u0061me":"s__t","arguments":{"_meta":{}}})",
      R"({"name":"s__t","arguments":[1]})",
      R"({"task":1,"name":"s__t"})",
      R"({"name":"s__t","task":{"ttl":60000},"arguments":{},"_meta":{"k":1}})",
      R"({"name":"s__t","t\u0061sk":1,"arguments":{"task":2}})",
      R"({"name":"s__t", "other":{"task":1}, "arguments":{"task":2}})",
  };
  const char* modern[] = {
      R"({"name":"s__t","arguments":{},"_meta":{)" MODERN_META "}}",
      R"({ "_meta":{ )" MODERN_META R"(, "traceparent":"00-1" } , "arguments":{},"name":"s__t"})",
      R"({"name":"s__t","arguments":{},"_meta":{)" MODERN_META R"(,"progressToken":3}})",
      R"({"name":"s__t","inputResponses":{},"arguments":{},"_meta":{)" MODERN_META "}}",
  };
  for (const Revision server : {Revision::r2025_11_25, Revision::r2026_07_28}) {
    for (const std::string_view token : {"", "17"}) {
      for (const char* text : legacy)
        check_both_ways(text, Revision::r2025_06_18, server, token);
      for (const char* text : modern)
        check_both_ways(text, Revision::r2026_07_28, server, token);
    }
  }
}

TEST_CASE("every call carries a progress token of ours, and trace context as it was",
          "[req:progress-token-string-or-int]") {
  const auto message = rpc::parse(
      PaddedBuffer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__t",)"
                   R"("arguments":{},"_meta":{"traceparent":"00-a-b-01","tracestate":"v=1",)"
                   R"("baggage":"k=\u0076"}}})"),
      json::Limits());
  REQUIRE(message.has_value());
  auto call = call_of(Method::tools_call, message->params, Revision::r2025_06_18);
  call.target_member = "name";
  call.target_value = "\"t\"";
  call.message = &*message;
  REQUIRE(hop_params(call, to(Revision::r2025_11_25, "17")) ==
          R"({"name":"t","arguments":{},"_meta":{"traceparent":"00-a-b-01","tracestate":"v=1",)"
          R"("baggage":"k=\u0076","progressToken":17}})");
  const std::string modern = hop_params(call, to(Revision::r2026_07_28, "17"));
  for (const auto& [key, value] :
       {std::pair("traceparent", R"("00-a-b-01")"), std::pair("tracestate", R"("v=1")"),
        std::pair("baggage", R"("k=\u0076")")}) {
    CAPTURE(key);
    REQUIRE(json::find(modern, "_meta", key) == value);
  }
}

TEST_CASE("progress comes back under the caller's token, in its vocabulary") {
  call::Caller caller;
  caller.progress_token = "\"mine\"";
  const char* params = R"({"progressToken":17,"progress":0.50,"message":"half","x":[1.0]})";
  caller.revision = Revision::r2025_11_25;
  REQUIRE(progress_for(caller, params) ==
          R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
          R"({"progressToken":"mine","progress":0.50,"message":"half","x":[1.0]}})");
  caller.revision = Revision::r2024_11_05;
  REQUIRE(json::find(progress_for(caller, params), "params", "message") == std::nullopt);
}

TEST_CASE("notifications lose the keys of _meta that the caller's revision does not define") {
  const char* params = R"({"level":"info","data":"x","_meta":{"a":1,)"
                       R"("io.modelcontextprotocol/subscriptionId":7}})";
  call::Caller caller;
  caller.progress_token = "1";
  caller.revision = Revision::r2025_11_25;
  REQUIRE(log_message_for(caller, params) ==
          R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
          R"({"level":"info","data":"x","_meta":{"a":1}}})");
  REQUIRE(json::find(progress_for(caller, params), "params", "_meta") == R"({"a":1})");
  caller.revision = Revision::r2026_07_28;
  REQUIRE(json::find(log_message_for(caller, params), "params") == params);
}

TEST_CASE("a server too old for the context of a completion is not sent it") {
  auto call = call_of(Method::completion_complete,
                      R"({"ref":{},"context":{"arguments":{"a":"b"}},"argument":{}})",
                      Revision::r2025_11_25);
  for (const Revision old : {Revision::r2024_11_05, Revision::r2025_03_26}) {
    REQUIRE(hop_params(call, to(old)) == R"({"ref":{},"argument":{}})");
  }
  REQUIRE(hop_params(call, to(Revision::r2025_06_18)) == call.params);
  call.method = Method::tools_call;
  call.params = R"({"name":"t","arguments":{},"context":1})";
  REQUIRE(hop_params(call, to(Revision::r2024_11_05)) == call.params);
}

TEST_CASE("a call that asks to be a task is an ordinary call") {
  for (const Revision server : {Revision::r2025_06_18, Revision::r2025_11_25}) {
    const auto call = call_of(Method::tools_call, R"({"name":"t","task":{"ttl":1},"arguments":{}})",
                              Revision::r2025_11_25);
    REQUIRE(hop_params(call, to(server)) == R"({"name":"t","arguments":{}})");
  }
}

TEST_CASE("a call that is to be a task says so to a server of 2025-11-25 alone") {
  for (const char* params :
       {R"({"name":"t","arguments":{}})", R"({"name":"t","arguments":{},"task":{"ttl":1}})"}) {
    auto call = call_of(Method::tools_call, params, Revision::r2025_11_25);
    call.task = R"({"ttl":9})";
    REQUIRE(hop_params(call, to(Revision::r2025_11_25)) ==
            R"({"name":"t","arguments":{},"task":{"ttl":9}})");
    REQUIRE(hop_params(call, to(Revision::r2025_06_18)) == R"({"name":"t","arguments":{}})");
  }
}

struct NullSink final : call::NotificationSink {
  void notify(std::string) override {}
};

TEST_CASE("log messages reach those who want them") {
  call::Caller caller;
  caller.sink = std::make_shared<NullSink>();
  const char* info = R"({"level":"info","data":"x"})";
  const char* error = R"({"level":"error","data":"x"})";
  caller.revision = Revision::r2025_11_25;
  REQUIRE(wants_log(caller, info));  // before any setLevel a server decides
  caller.log_level = "warning";
  REQUIRE_FALSE(wants_log(caller, info));
  REQUIRE(wants_log(caller, error));
  caller.revision = Revision::r2026_07_28;
  caller.log_level = {};
  REQUIRE_FALSE(wants_log(caller, error));  // a modern request that set no level gets none
  caller.log_level = "debug";
  REQUIRE(wants_log(caller, info));
  caller.sink = nullptr;
  REQUIRE_FALSE(wants_log(caller, error));
}

TEST_CASE("a legacy server gets nothing of what a modern client says about itself") {
  const std::string_view said =
      R"({"n":1.0,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","a":1}})";
  const auto modern = Revision::r2026_07_28;
  const auto legacy = Revision::r2025_11_25;
  REQUIRE(notice_params(said, modern, legacy) == R"({"n":1.0,"_meta":{"a":1}})");
  REQUIRE(notice_params(said, modern, modern) == said);
  REQUIRE(notice_params(said, legacy, legacy) == said);
  const std::string_view only = R"({"_meta":{"io.modelcontextprotocol/clientInfo":{}},"n":2})";
  REQUIRE(notice_params(only, modern, legacy) == R"({"n":2})");
  REQUIRE(notice_params({}, modern, legacy).empty());
}

}  // namespace
}  // namespace mcpx::upstream
