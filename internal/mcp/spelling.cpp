#include "mcp/spelling.hpp"

#include <utility>

#include "json/splice.hpp"
#include "mcp/error_codes.hpp"
#include "mcp/shapes.hpp"
#include "mcp/structured.hpp"

namespace mcpx::mcp {
namespace {

using json::Raw;

const char* end_of(Raw value) {
  return value.data() + value.size();
}

bool lacks(Revision to, const std::optional<Feature>& feature) {
  return feature && !defines(to, *feature);
}

// Bytes that Base64 text stands for.
std::size_t decoded_size(std::string_view base64) {
  while (!base64.empty() && base64.back() == '=')
    base64.remove_suffix(1);
  return base64.size() * 3 / 4;
}

// Legacy revisions take only schemas of objects, with objects for properties; a property that is
// `true` or `false` can be written as one.
bool is_object_schema(Raw schema) {
  if (json::find_string(schema, "type") != "object") return false;
  const auto properties = json::find(schema, "properties");
  if (!properties) return true;
  if (!json::is_object(*properties)) return false;
  json::Members members(*properties);
  while (const auto member = members.next()) {
    if (!json::is_object(member->value) && !json::as_bool(member->value)) return false;
  }
  return true;
}

std::string audio_text(Raw block, Revision to) {
  const std::string mime = json::find_string(block, "mimeType").value_or("unknown type");
  const auto data = json::find(block, "data");
  const std::size_t quotes = 2;
  const std::size_t size =
      data && json::is_string(*data) ? decoded_size(data->substr(1, data->size() - quotes)) : 0;
  return "[audio, " + mime + ", " + std::to_string(size) + " bytes: not representable in MCP " +
         std::string(text(to)) + "]";
}

std::string link_text(Raw block) {
  std::string out = "[resource: " + json::find_string(block, "name").value_or("unnamed");
  if (const auto uri = json::find_string(block, "uri")) out += ", " + *uri;
  if (const auto mime = json::find_string(block, "mimeType")) out += ", " + *mime;
  out += ']';
  if (const auto description = json::find_string(block, "description")) out += ' ' + *description;
  return out;
}

void append_text_block(std::string& out, std::string_view text) {
  out += R"({"type":"text","text":)";
  json::append_string(out, text);
}

// Writes one JSON value for another revision: what passes is copied in as long runs as possible,
// so a value that needs no change is one append.
class Speller {
 public:
  Speller(std::string& out, Raw source, Revision to)
      : out_(out), copied_(source.data()), end_(end_of(source)), to_(to) {}

  void spell(Shape shape, Raw value);
  void finish() { keep_until(end_); }
  // The "content" of the result being spelled gets this text as its last block.
  void give_text(Raw content, std::string_view text) {
    given_to_ = content.data();
    given_text_ = text;
  }

 private:
  void object(Shape shape, Raw value);
  void member(const MemberRow& row, Raw value);
  void properties(Raw schema);
  void block(Raw value);
  bool dropped(const MemberRow& row, Raw value) const;
  bool empties(Raw meta) const;

  void keep_until(const char* at) {
    if (at <= copied_) return;
    out_.append(copied_, at);
    copied_ = at;
  }

  std::string& out_;
  const char* copied_;  // the source up to here is written or dropped
  const char* end_;
  Revision to_;
  const char* given_to_ = nullptr;
  std::string_view given_text_;
};

void Speller::spell(Shape shape, Raw value) {
  if (!json::is_object(value) || !can_differ(shape, to_)) return;
  if (shape == Shape::content_block) return block(value);
  if (shape == Shape::schema) return properties(value);
  if (!members_of(shape).empty()) object(shape, value);
}

void Speller::object(Shape shape, Raw value) {
  json::Members members(value);
  const char* kept_end = nullptr;
  auto current = members.next();
  while (current) {
    const auto next = members.next();
    const MemberRow* row = find_member(shape, *current);
    if (!row || !dropped(*row, current->value)) {
      if (row) member(*row, current->value);
      kept_end = end_of(current->value);
    } else if (kept_end) {  // together with the comma in front of it
      keep_until(kept_end);
      copied_ = end_of(current->value);
    } else {  // together with the comma behind it
      keep_until(current->key.data());
      copied_ = next ? next->key.data() : end_of(current->value);
    }
    current = next;
  }
}

void Speller::member(const MemberRow& row, Raw value) {
  if (!row.each) return spell(row.value, value);
  const bool given = value.data() == given_to_;
  if (!json::is_array(value) || (!given && !can_differ(row.value, to_))) return;
  const char* last = value.data() + 1;
  bool any = false;
  json::Elements elements(value);
  while (const auto element = elements.next()) {
    spell(row.value, *element);
    last = end_of(*element);
    any = true;
  }
  if (!given) return;
  keep_until(last);
  if (any) out_ += ',';
  append_text_block(out_, given_text_);
  out_ += '}';
}

// `true` and `false` as the objects that mean the same; one of them anywhere would make legacy
// clients refuse the whole list.
void Speller::properties(Raw schema) {
  const auto properties = json::find(schema, "properties");
  if (!properties || !json::is_object(*properties)) return;
  json::Members members(*properties);
  while (const auto member = members.next()) {
    const auto allowed = json::as_bool(member->value);
    if (!allowed) continue;
    keep_until(member->value.data());
    out_ += *allowed ? "{}" : R"({"not":{}})";
    copied_ = end_of(member->value);
  }
}

void Speller::block(Raw value) {
  const BlockRow* row = find_block(value);
  if (!row) return;
  if (!lacks(to_, row->feature)) return object(row->shape, value);
  keep_until(value.data());
  const bool audio = row->feature == Feature::audio_content;
  append_text_block(out_, audio ? audio_text(value, to_) : link_text(value));
  const auto annotations = json::find(value, "annotations");
  if (annotations && json::is_object(*annotations)) {
    out_ += R"(,"annotations":)";
    Speller nested(out_, *annotations, to_);
    nested.spell(Shape::annotations, *annotations);
    nested.finish();
  }
  out_ += '}';
  copied_ = end_of(value);
}

bool Speller::dropped(const MemberRow& row, Raw value) const {
  if (lacks(to_, row.feature)) return true;
  const bool objects_only = lacks(to_, Feature::structured_content_any);
  switch (row.value) {
    case Shape::meta:
      return empties(value);
    case Shape::structured:
      return objects_only && !json::is_object(value);
    case Shape::schema:  // of the output; that of the input is required, and of an object anyway
      return objects_only && row.feature && !is_object_schema(value);
    default:
      return false;
  }
}

// A _meta that held nothing but keys of other revisions goes with them.
bool Speller::empties(Raw meta) const {
  if (!json::is_object(meta)) return false;
  json::Members members(meta);
  bool any = false;
  while (const auto member = members.next()) {
    const MemberRow* row = find_member(Shape::meta, *member);
    if (!row || !lacks(to_, row->feature)) return false;
    any = true;
  }
  return any;
}

void append_spelled(std::string& out, Shape shape, Raw value, Revision to) {
  Speller speller(out, value, to);
  speller.spell(shape, value);
  speller.finish();
}

// A tool's result that loses its structured content says it as text, unless a text of it does so
// already (server/tools: "for backwards compatibility").
void append_call_result(std::string& out, Raw result, Revision to) {
  if (!json::may_mention(result, "structuredContent")) {
    return append_spelled(out, Shape::call_result, result, to);
  }
  const auto structured = json::find(result, "structuredContent");
  const bool lost =
      structured && (lacks(to, Feature::structured_content) ||
                     (lacks(to, Feature::structured_content_any) && !json::is_object(*structured)));
  const auto content = json::find(result, "content");
  if (!lost || (content && says(*content, *structured))) {
    return append_spelled(out, Shape::call_result, result, to);
  }
  if (content) {
    Speller speller(out, result, to);
    speller.give_text(*content, *structured);
    speller.spell(Shape::call_result, result);
    return speller.finish();
  }
  std::string added = "[";
  append_text_block(added, *structured);
  added += "}]";
  json::Splice with_text(result);
  with_text.remove("structuredContent").set("content", std::move(added));
  const std::string text = with_text.text();
  append_spelled(out, Shape::call_result, text, to);
}

// What a modern result has at its top level, found in one pass.
struct Top {
  std::optional<Raw> meta, type;
  bool has_ttl = false, has_scope = false;
  const char* last_end = nullptr;  // of the last member; null in {}
};

Top read_top(Raw result) {
  Top top;
  json::Members members(result);
  while (const auto member = members.next()) {
    top.last_end = end_of(member->value);
    if (member->key_is("_meta")) {
      top.meta = member->value;
    } else if (member->key_is("resultType")) {
      top.type = member->value;
    } else if (member->key_is("ttlMs")) {
      top.has_ttl = true;
    } else if (member->key_is("cacheScope")) {
      top.has_scope = true;
    }
  }
  return top;
}

void append_member(std::string& out, bool first, std::string_view key, std::string_view value) {
  if (!first) out += ',';
  json::append_string(out, key);
  out += ':';
  out += value;
}

// A modern receiver has the vocabulary of every legacy revision, but for a key of _meta that passed
// with 2025-11-25; what it wants besides is added.
void append_modern(std::string& out, Method method, Raw result, const ResultContext& context) {
  const Top top = read_top(result);
  if (era_of(context.from) == Era::legacy && top.meta && json::find(*top.meta, kMetaRelatedTask)) {
    std::string without;
    append_spelled(without, Shape::other_result, result, context.to);
    return append_modern(out, method, without, context);
  }
  const bool complete = !top.type || json::decode_string(*top.type) == "complete";
  const bool cacheable = complete && info(method).cacheable;
  const char* copied = result.data();
  const bool meta_is_object = top.meta && json::is_object(*top.meta);
  if (!context.server_info.empty() && meta_is_object && !json::find(*top.meta, kMetaServerInfo)) {
    const bool first = !json::Members(*top.meta).next().has_value();
    const char* brace = end_of(*top.meta) - 1;
    out.append(copied, brace);
    append_member(out, first, kMetaServerInfo, context.server_info);
    copied = brace;
  }
  const char* brace = end_of(result) - 1;
  out.append(copied, brace);
  bool first = top.last_end == nullptr;
  const auto add = [&](std::string_view key, std::string_view value) {
    append_member(out, first, key, value);
    first = false;
  };
  if (!top.type) add("resultType", R"("complete")");
  if (!context.server_info.empty() && !top.meta) {
    std::string meta = "{";
    append_member(meta, true, kMetaServerInfo, context.server_info);
    add("_meta", meta + "}");
  }
  if (cacheable && !top.has_ttl) add("ttlMs", std::to_string(context.cache.ttl_ms));
  if (cacheable && !top.has_scope) {
    add("cacheScope", context.cache.is_private ? R"("private")" : R"("public")");
  }
  out.append(brace, end_of(result));
}

}  // namespace

void append_result_for(std::string& out, Method method, Raw result, const ResultContext& context) {
  if (!json::is_object(result)) {
    out += result;
  } else if (era_of(context.to) == Era::modern) {
    append_modern(out, method, result, context);
  } else if (passes_whole(context.from, context.to)) {
    out += result;
  } else if (method == Method::tools_call) {
    append_call_result(out, result, context.to);
  } else {
    append_spelled(out, result_shape(method), result, context.to);
  }
}

void append_definition_for(std::string& out, ListKind kind, Raw definition, Revision to) {
  append_spelled(out, definition_shape(kind), definition, to);
}

void append_notification_params_for(std::string& out, Method method, Raw params, Revision to) {
  const bool progress = method == Method::notify_progress;
  append_spelled(out, progress ? Shape::progress_notification : Shape::notification, params, to);
}

void append_implementation_for(std::string& out, Raw implementation, Revision to) {
  append_spelled(out, Shape::implementation, implementation, to);
}

ResultType result_type_of(Raw result) {
  const auto type = json::find(result, "resultType");
  if (!type) return ResultType::complete;
  const auto name = json::decode_string(*type);
  if (name == "complete") return ResultType::complete;
  if (name == "input_required") return ResultType::input_required;
  if (name == "task") return ResultType::task;
  return ResultType::unknown;
}

}  // namespace mcpx::mcp
