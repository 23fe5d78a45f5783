#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "json/scan.hpp"
#include "rpc/fields.hpp"
#include "rpc/message.hpp"
#include "unit/json/random_json.hpp"

namespace mcpx::rpc {
namespace {

ParseResult read(std::string_view text) {
  return parse(PaddedBuffer(text), json::Limits{});
}

Message message(std::string_view text) {
  auto result = read(text);
  INFO(text);
  REQUIRE(result.has_value());
  return *std::move(result);
}

ParseFailure failure(std::string_view text) {
  const auto result = read(text);
  INFO(text);
  REQUIRE_FALSE(result.has_value());
  CHECK_FALSE(result.error().message.empty());
  return result.error();
}

TEST_CASE("a request is read with its routing fields as raw spans") {
  const Message m = message(
      R"( {"params" : {"_meta":{"progressToken": 7}, "name":"a\u0062", "arguments":{"x":1.0} ,)"
      R"("uri":"u:/","taskId":"t","cursor":"c"} , "id": 7 , "method":"tools\/call","jsonrpc":"2.0"} )");
  CHECK(m.kind == Kind::request);
  CHECK(m.id == "7");
  CHECK(m.method == "tools/call");
  CHECK(m.params == R"({"_meta":{"progressToken": 7}, "name":"a\u0062", "arguments":{"x":1.0} ,)"
                    R"("uri":"u:/","taskId":"t","cursor":"c"})");
  CHECK(m.name == R"("a\u0062")");
  CHECK(m.uri == R"("u:/")");
  CHECK(m.task_id == R"("t")");
  CHECK(m.cursor == R"("c")");
  CHECK(m.meta == R"({"progressToken": 7})");
  CHECK(m.result.empty());
  CHECK(m.error.empty());
}

TEST_CASE("notifications, results and errors are told apart") {
  const Message note = message(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  CHECK(note.kind == Kind::notification);
  CHECK(note.id.empty());
  CHECK(note.params.empty());

  const Message result = message(R"({"result":null,"jsonrpc":"2.0","id":"x"})");
  CHECK(result.kind == Kind::result);
  CHECK(result.result == "null");
  CHECK(result.id == "\"x\"");
  CHECK(result.method.empty());

  const Message error = message(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}})");
  CHECK(error.kind == Kind::error);
  CHECK(error.error == R"({"code":-1,"message":"m"})");
}

TEST_CASE("params on a response are an unknown member") {
  const Message m = message(R"({"jsonrpc":"2.0","id":1,"result":{},"params":{"name":"a"}})");
  CHECK(m.kind == Kind::result);
  CHECK(m.params.empty());
  CHECK(m.name.empty());
  CHECK(message(R"({"jsonrpc":"2.0","id":1,"result":{},"params":null})").kind == Kind::result);
}

TEST_CASE("an error whose request could not be read has no id, or null",
          "[req:messages-error-response-same-id-unless-unreadable]") {
  for (const char* text :
       {R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}})"}) {
    const Message m = message(text);
    CHECK(m.kind == Kind::error);
    CHECK(m.id.empty());
  }
}

TEST_CASE("C34: request ids of every legal kind are echoed exactly",
          "[req:messages-request-id-string-or-integer]") {
  const std::vector<std::string> ids = {"7",
                                        "\"7\"",
                                        "9007199254740993",
                                        "\"\"",
                                        "\"" + std::string(300, 'i') + "\"",
                                        "0",
                                        "-1",
                                        "1.0",
                                        "-0",
                                        "1E2",
                                        "1e400",
                                        std::string(40, '8'),
                                        R"("\u0061\ud83d\ude00")",
                                        R"("\ud800")"};
  for (const std::string& id : ids) {
    DYNAMIC_SECTION(id) {
      const Message m = message(R"({"jsonrpc":"2.0","id": )" + id + R"( ,"method":"ping"})");
      CHECK(m.kind == Kind::request);
      CHECK(m.id == id);
      std::string out;
      append_result(out, m.id, "{}");
      CHECK(out == R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":{}})");
      CHECK(message(out).id == id);
    }
  }
}

TEST_CASE("request ids of other kinds are refused", "[req:messages-request-id-not-null]") {
  for (const std::string id : {"null", "true", "[7]", "{}", "1.5", "1e-1"}) {
    CAPTURE(id);
    const ParseFailure f = failure(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ping"})");
    CHECK(f.code == kInvalidRequest);
    CHECK(f.id.empty());
    CHECK(failure(R"({"jsonrpc":"2.0","result":{},"id":)" + id + "}").code == kInvalidRequest);
  }
}

TEST_CASE("an invalid request is refused with the id it had") {
  const std::vector<std::string> texts = {
      R"({"id":7,"method":"ping"})",
      R"({"jsonrpc":"1.0","id":7,"method":"ping"})",
      R"({"jsonrpc":2.0,"id":7,"method":"ping"})",
      R"({"jsonrpc":"2.0","id":7})",
      R"({"jsonrpc":"2.0","id":7,"method":1})",
      R"({"jsonrpc":"2.0","id":7,"method":null})",
      R"({"jsonrpc":"2.0","id":7,"method":"\ud800"})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":null})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":"x"})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":1e400})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","result":{}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","error":{}})",
      R"({"jsonrpc":"2.0","id":7,"result":{},"error":{}})",
      R"({"jsonrpc":"2.0","id":7,"error":"x"})",
      R"({"jsonrpc":"2.0","id":7,"error":null})",
      R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"m"})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","meth\u006fd":"n"})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{},"params":{}})",
      R"({"jsonrpc":"2.0","id":7,"result":{},"result":{}})",
      R"({"jsonrpc":"2.0","id":7,"error":{},"error":{}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"name":"a","name":"b"}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"name":"a","nam\u0065":1}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"uri":"a","uri":"b"}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"taskId":"a","taskId":"b"}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"cursor":"a","cursor":"b"}})",
      R"({"jsonrpc":"2.0","id":7,"method":"m","params":{"_meta":{},"_meta":{}}})",
  };
  for (const std::string& text : texts) {
    DYNAMIC_SECTION(text) {
      const ParseFailure f = failure(text);
      CHECK(f.code == kInvalidRequest);
      CHECK(f.id == "7");
    }
  }
  const ParseFailure twice = failure(R"({"jsonrpc":"2.0","id":7,"\u0069d":8,"method":"m"})");
  CHECK(twice.code == kInvalidRequest);
  CHECK(twice.id.empty());
}

TEST_CASE("text that is no JSON is a parse error, JSON that is no object an invalid request") {
  CHECK(failure("").code == kParseError);
  CHECK(failure("hello").code == kParseError);
  CHECK(failure(R"({"jsonrpc":"2.0","id":7,"method":"m"} {})").code == kParseError);
  CHECK(failure("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xFF\"}").code == kParseError);
  CHECK(failure(R"({"jsonrpc":"2.0","id":7,"method":"m")").id.empty());
  for (const char* text : {"[]", "7", "\"x\"", "null", "[1e400]"}) {
    CHECK(failure(text).code == kInvalidRequest);
  }
}

TEST_CASE("routing fields of another kind count as absent, and may be twice elsewhere") {
  const Message m = message(
      R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"name":1,"uri":null,"taskId":{},"cursor":[],)"
      R"("_meta":"x","arguments":{"name":1,"name":2},"y":0,"y":1},"name":"top","extra":{"id":1,"id":2}})");
  CHECK(m.name.empty());
  CHECK(m.uri.empty());
  CHECK(m.task_id.empty());
  CHECK(m.cursor.empty());
  CHECK(m.meta.empty());
  CHECK(message(R"({"jsonrpc":"2.0","method":"m","params":[{"name":"a"}]})").name.empty());
}

TEST_CASE("numbers no machine type holds do not stop routing") {
  const Message m = message(
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"n":[1e400,1.0]},"name":"t"}})");
  CHECK(m.name == "\"t\"");
  CHECK(json::find(m.params, "arguments", "n") == Raw("[1e400,1.0]"));
}

TEST_CASE("spans stay valid when the message moves") {
  std::vector<Message> kept;
  for (int i = 0; i < 50; ++i) {
    kept.push_back(message(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"m"})"));
  }
  for (int i = 0; i < 50; ++i)
    CHECK(kept[static_cast<std::size_t>(i)].id == std::to_string(i));
}

// What the last member of that name is, by another reader.
void check_member(Raw span, const boost::json::object& object, std::string_view key) {
  CAPTURE(key);
  const auto* expected = object.if_contains({key.data(), key.size()});
  REQUIRE(span.empty() == (expected == nullptr));
  if (expected != nullptr) {
    // As text: a number beyond every machine type equals nothing, not even itself.
    const auto found = boost::json::parse({span.data(), span.size()});
    CHECK(boost::json::serialize(found) == boost::json::serialize(*expected));
  }
}

TEST_CASE("neither a key that is no text nor a long text hides a member") {
  CHECK(message(
            R"({"jsonrpc":"2.0","\ud800":1,"id":5,"method":"m","params":{"\udc00":1,"name":"n"}})")
            .name == "\"n\"");
  const std::string blob(200'000, 'x');
  const Message large = message(R"({"jsonrpc":"2.0","id":5,"method":"m","params":{"x":")" + blob +
                                R"(","n\u0061me":"n"}})");
  CHECK(large.name == "\"n\"");
  CHECK(large.id == "5");
}

TEST_CASE("a message with two ids is refused without one, whatever else is wrong with it") {
  const auto parsed = parse(
      PaddedBuffer(R"({"jsonrpc":"2.0","method":"a","method":"b","id":1,"id":2})"), json::Limits{});
  REQUIRE(parsed.has_error());
  CHECK(parsed.error().id.empty());
}

TEST_CASE("the envelope of random objects is what Boost.JSON reads") {
  const std::uint64_t seed = test::random_seed();
  INFO("MCPX_SEED=" << seed);
  test::RandomJson random(seed);
  const std::vector<std::string> keys = {"jsonrpc", "id", "method", "result", "error"};
  for (int i = 0; i < 1000; ++i) {
    std::string text = random.object(3, keys);
    text.pop_back();
    if (text.find(':') != text.npos) text += ',';
    text += random.spelled("params") + ":" + random.object(3, {"name", "uri", "_meta", "cursor"});
    text += random.white() + "}";
    CAPTURE(text);
    const PaddedBuffer buffer(text);
    REQUIRE(json::validate(buffer.view(), json::Limits{}).has_value());
    const Fields fields = read_fields(buffer.view());
    const auto object = boost::json::parse(text).as_object();
    check_member(fields.id, object, "id");
    check_member(fields.method, object, "method");
    check_member(fields.params, object, "params");
    check_member(fields.result, object, "result");
    check_member(fields.error, object, "error");
    const auto& params = object.at("params").as_object();
    check_member(fields.name, params, "name");
    check_member(fields.uri, params, "uri");
    check_member(fields.meta, params, "_meta");
    check_member(fields.cursor, params, "cursor");
  }
}

TEST_CASE("batches are split into their elements", "[req:messages-batch-may-send-must-receive]") {
  CHECK(is_batch(" \n[1]"));
  CHECK_FALSE(is_batch("{}"));
  CHECK_FALSE(is_batch(""));
  CHECK_FALSE(split_batch(PaddedBuffer(R"({"a":[]})")).has_value());
  CHECK(split_batch(PaddedBuffer(" [ ] "))->empty());
  const PaddedBuffer text(
      R"([ {"jsonrpc":"2.0","id":1,"method":"a"} , {"jsonrpc":"2.0","method":"b"},7])");
  const auto parts = split_batch(text);
  REQUIRE(parts.has_value());
  REQUIRE(parts->size() == 3);
  CHECK((*parts)[0].view() == R"({"jsonrpc":"2.0","id":1,"method":"a"})");
  CHECK(message((*parts)[1].view()).method == "b");
  CHECK(failure((*parts)[2].view()).code == kInvalidRequest);
}

TEST_CASE("ids mcpx made are read back as numbers") {
  CHECK(id_number("7") == 7);
  CHECK(id_number("7.0") == 7);
  CHECK_FALSE(id_number("\"7\""));
  CHECK_FALSE(id_number("null"));
  CHECK_FALSE(id_number(""));
  CHECK_FALSE(id_number("99999999999999999999"));
}

}  // namespace
}  // namespace mcpx::rpc
