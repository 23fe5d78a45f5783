// Any bytes through validate, parse, append_* and Splice, with Boost.JSON as the judge: what it
// accepts we accept, our spans mean what it reads, and everything we write is valid and reads back.
#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <utility>

#include "fuzz/check.hpp"
#include "json/grammar.hpp"
#include "json/json.hpp"
#include "json/splice.hpp"
#include "rpc/fields.hpp"
#include "rpc/message.hpp"

namespace mcpx::fuzz {
namespace {

using json::Raw;

constexpr json::Limits kLimits{64};

struct Judgement {
  boost::json::error_code error;
  boost::json::value value;
};

Judgement judge(std::string_view text) {
  Judgement out;
  boost::json::parse_options options;
  options.max_depth = kLimits.depth + 2;
  out.value = boost::json::parse(text, out.error, {}, options);
  return out;
}

bool has_leading_surrogate(std::string_view text) {
  for (std::size_t at = text.find("\\u"); at != text.npos; at = text.find("\\u", at + 1)) {
    if (at + 3 < text.size() && (text[at + 2] | 0x20) == 'd') {
      if (std::string_view("89aAbB").find(text[at + 3]) != std::string_view::npos) return true;
    }
  }
  return false;
}

// What Boost.JSON refuses and RFC 8259 does not, because it converts numbers and strings. A leading
// surrogate without a second escape is plain "syntax" to it.
bool beyond_machine_types(const boost::json::error_code& error, std::string_view text) {
  return error == boost::json::error::exponent_overflow ||
         error == boost::json::error::illegal_leading_surrogate ||
         error == boost::json::error::illegal_trailing_surrogate ||
         (error == boost::json::error::syntax && has_leading_surrogate(text));
}

void check_validation(const PaddedBuffer& text, const Judgement& other) {
  const auto result = json::validate(text.view(), kLimits);
  const auto fault = json::check_grammar(text.view(), kLimits.depth);
  FUZZ_CHECK(result.has_value() == !fault.has_value());
  if (result.has_value())
    FUZZ_CHECK(!other.error || beyond_machine_types(other.error, text.view()));
  if (!other.error) FUZZ_CHECK(result.has_value() || result.error().code == "json.depth");
}

std::string on_one_line(Raw value) {
  std::string out(value);
  std::replace(out.begin(), out.end(), '\n', ' ');
  std::replace(out.begin(), out.end(), '\r', ' ');
  return out;
}

void check_span(Raw span, const PaddedBuffer& text, const boost::json::object* object,
                std::string_view key) {
  if (span.empty()) return;
  FUZZ_CHECK(span.data() >= text.data());
  FUZZ_CHECK(span.data() + span.size() <= text.data() + text.size());
  FUZZ_CHECK(json::validate(span, kLimits).has_value());
  if (object == nullptr) return;
  const auto* expected = object->if_contains(key);
  FUZZ_CHECK(expected != nullptr);
  const Judgement found = judge(span);
  FUZZ_CHECK(!found.error);
  FUZZ_CHECK(boost::json::serialize(found.value) == boost::json::serialize(*expected));
}

void check_spans(const rpc::Message& m, const Judgement& other) {
  const auto* object = other.error ? nullptr : other.value.if_object();
  check_span(m.id, m.text, object, "id");
  check_span(m.params, m.text, object, "params");
  check_span(m.result, m.text, object, "result");
  check_span(m.error, m.text, object, "error");
  const auto* params = object ? object->if_contains("params") : nullptr;
  const auto* inner = params ? params->if_object() : nullptr;
  check_span(m.name, m.text, inner, "name");
  check_span(m.uri, m.text, inner, "uri");
  check_span(m.task_id, m.text, inner, "taskId");
  check_span(m.cursor, m.text, inner, "cursor");
  check_span(m.meta, m.text, inner, "_meta");
  if (object && !m.method.empty()) FUZZ_CHECK(object->at("method").as_string() == m.method);
}

void check_rewritten(const rpc::Message& m) {
  std::string out;
  switch (m.kind) {
    case rpc::Kind::request:
      rpc::append_request(out, m.id, m.method, m.params);
      break;
    case rpc::Kind::notification:
      rpc::append_notification(out, m.method, m.params);
      break;
    case rpc::Kind::result:
      rpc::append_result(out, m.id, m.result);
      break;
    case rpc::Kind::error:
      rpc::append_error(out, m.id, m.error);
      break;
  }
  FUZZ_CHECK(out.find_first_of("\r\n") == out.npos);
  const auto again = rpc::parse(PaddedBuffer(out), kLimits);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(again->kind == m.kind);
  FUZZ_CHECK(again->id == m.id);
  FUZZ_CHECK(again->method == m.method);
  FUZZ_CHECK(again->params == on_one_line(m.params));
  FUZZ_CHECK(again->result == on_one_line(m.result));
  FUZZ_CHECK(again->error == on_one_line(m.error));
}

void check_splice(Raw object) {
  if (!json::is_object(object)) return;
  const std::string out =
      json::Splice(object).set("name", "\"n\"").remove("a").set_default("id", "1").text();
  FUZZ_CHECK(json::validate(out, kLimits).has_value());
  FUZZ_CHECK(json::find(out, "name") == Raw("\"n\""));
  FUZZ_CHECK(!json::find(out, "a").has_value());
  FUZZ_CHECK(json::find(out, "id") == json::find(object, "id").value_or("1"));
  const std::string without = json::Splice(object).remove("none such").text();
  FUZZ_CHECK(!json::find(without, "none such").has_value());
  FUZZ_CHECK(json::find(object, "none such").has_value() || without == object);
}

// Walkers on text nobody validated: any answer, but no byte outside the span (the sanitizer's job).
void walk(Raw text) {
  json::Members members(text);
  while (const auto member = members.next())
    static_cast<void>(member->key_is("method"));
  json::Elements elements(text);
  while (const auto element = elements.next())
    static_cast<void>(json::is_integer(*element));
  static_cast<void>(json::decode_string(text));
  static_cast<void>(json::as_integer(text));
  FUZZ_CHECK(json::validate(json::quoted(text), kLimits).has_value());
}

void run(std::string_view input) {
  walk(input);
  PaddedBuffer text(input);
  const Judgement other = judge(input);
  check_validation(text, other);
  if (json::validate(text.view(), kLimits).has_value()) {
    // The trimmed text, as parse() uses it.
    const std::size_t begin = input.find_first_not_of(" \t\r\n");
    const std::size_t end = input.find_last_not_of(" \t\r\n");
    const Raw body = text.view().substr(begin, end + 1 - begin);
    check_splice(body);
  }
  const auto parsed = rpc::parse(std::move(text), kLimits);
  if (!parsed) {
    FUZZ_CHECK(parsed.error().id.empty() || rpc::is_id(parsed.error().id));
    return;
  }
  check_spans(*parsed, other);
  check_rewritten(*parsed);
}

}  // namespace
}  // namespace mcpx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mcpx::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
