#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "json/scan.hpp"
#include "rpc/message.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::rpc {
namespace {

Message message(std::string_view text) {
  auto result = parse(PaddedBuffer(text), json::Limits{});
  CAPTURE(text);
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

// What one line makes of a value: its line ends, which are white space, are spaces.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\r', ' ');
  return text;
}

TEST_CASE("messages are written with the members they have") {
  std::string out;
  append_request(out, "7", "tools/call", R"({"a":1})");
  CHECK(out == R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1}})");
  out.clear();
  append_request(out, "\"x\"", "ping", {});
  CHECK(out == R"({"jsonrpc":"2.0","id":"x","method":"ping"})");
  out.clear();
  append_notification(out, "a\"b", "[]");
  CHECK(out == R"({"jsonrpc":"2.0","method":"a\"b","params":[]})");
  out = "before ";
  append_result(out, "1.0", "null");
  CHECK(out == R"(before {"jsonrpc":"2.0","id":1.0,"result":null})");
  out.clear();
  append_error(out, {}, error_object(-32700, "bad \"json\""));
  CHECK(out == R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"bad \"json\""}})");
  CHECK(error_object(-32022, "m", R"({"supported":[]})") ==
        R"({"code":-32022,"message":"m","data":{"supported":[]}})");
}

TEST_CASE("a written message is one line, whatever line ends its parts had",
          "[req:stdio-message-is-single]") {
  std::string out = "kept\n";
  append_result(out, "1", "{\n  \"a\": [\r\n1,\r2]\n}");
  CHECK(out == "kept\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{   \"a\": [  1, 2] }}");
}

TEST_CASE("C33: a payload with content blocks and odd numbers comes out byte for byte") {
  const std::string result =
      R"({"content":[{"type":"text","text":"a\u0062\/"},{"type":"image","data":"AA==","mimeType":"image/png"},)"
      R"({"type":"audio","data":"","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"x:y","text":""}},)"
      R"({"type":"resource_link","uri":"x:z","name":"z"},{"type":"hologram","depth":1.0}],)"
      R"("structuredContent":{"a":1.0,"b":1e400,"c":9007199254740993,"d":-0,"e":false,"f":null,"a":2},)"
      R"( "_meta" : {"vendor/x": [ ] } })";
  std::string in = R"({"jsonrpc":"2.0","result": )" + result + R"( ,"id":3})";
  const Message m = message(in);
  CHECK(m.result == result);
  std::string out;
  append_result(out, "\"client\"", m.result);
  CHECK(out == R"({"jsonrpc":"2.0","id":"client","result":)" + result + "}");
}

TEST_CASE("any params and any result come out of parse and append as they went in") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  for (int i = 0; i < 3000; ++i) {
    random.line_ends(random.one_in(2));
    const std::string value = random.value();
    const std::string params = random.one_in(4) ? random.array() : random.object(4, {"x", "id"});
    CAPTURE(value, params);
    const auto w = [&] { return random.white(); };
    const auto key = [&](std::string_view text) { return random.spelled(text) + w() + ":" + w(); };

    const Message request =
        message(w() + "{" + w() + key("params") + params + w() + "," + key("method") +
                random.spelled("tools/call") + "," + w() + key("id") + "42" + w() + "," +
                key("jsonrpc") + random.spelled("2.0") + "}" + w());
    REQUIRE(request.params == params);
    REQUIRE(request.id == "42");
    REQUIRE(request.method == "tools/call");
    std::string out;
    append_request(out, "1", request.method, request.params);
    REQUIRE(out == R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" +
                       on_one_line(params) + "}");

    const Message response = message("{" + key("jsonrpc") + "\"2.0\"" + "," + key("result") +
                                     value + w() + "," + key("id") + "1" + w() + "}");
    REQUIRE(response.result == value);
    out.clear();
    append_result(out, "42", response.result);
    REQUIRE(out == R"({"jsonrpc":"2.0","id":42,"result":)" + on_one_line(value) + "}");
    REQUIRE(message(out).result == on_one_line(value));
    REQUIRE(out.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace mcpx::rpc
