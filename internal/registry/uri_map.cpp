#include "registry/uri_map.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "json/splice.hpp"
#include "mcp/uris.hpp"

namespace mcpx::registry {
namespace {

constexpr int kMetaDepth = 4;  // of members of a _meta that are looked into

// Spans of one text to be replaced, collected while walking it, applied in one copy.
class Replacements {
 public:
  Replacements(std::string_view server, bool own_uris) : server_(server), own_uris_(own_uris) {}

  void uri_member(json::Raw object, std::string_view key) {
    const auto value = json::find(object, key);
    if (!value) return;
    if (const auto uri = json::decode_string(*value)) replace(*value, *uri);
  }

  // A content block: an embedded resource or a link to one.
  void content(json::Raw block) {
    const auto type = json::find_string(block, "type");
    if (type == "resource_link") uri_member(block, "uri");
    if (type == "resource") {
      if (const auto resource = json::find(block, "resource")) uri_member(*resource, "uri");
    }
  }

  void contents(json::Raw list) {
    json::Elements elements(list);
    while (const auto block = elements.next())
      content(*block);
  }

  // The entry of a skill (SEP-2640): itself and the files it is made of.
  void skill(json::Raw entry) {
    uri_member(entry, "uri");
    if (const auto files = json::find(entry, "resources")) items(*files);
  }

  // `uri` of each object in a list.
  void items(json::Raw list) {
    if (!json::is_array(list)) return;
    json::Elements elements(list);
    while (const auto item = elements.next())
      uri_member(*item, "uri");
  }

  // Every `ui://` in a _meta: `ui.resourceUri` of MCP Apps, its older spelling "ui/resourceUri",
  // and what hosts had before ("openai/outputTemplate").
  void interfaces(json::Raw value, int depth = 0) {
    if (json::is_string(value)) {
      const auto uri = json::decode_string(value);
      if (uri && uri->starts_with("ui://")) replace(value, *uri);
    } else if (json::is_object(value) && depth < kMetaDepth) {
      json::Members members(value);
      while (const auto member = members.next())
        interfaces(member->value, depth + 1);
    }
  }

  // Empty when nothing was collected.
  std::string apply(json::Raw text) {
    std::string out;
    if (spans_.empty()) return out;
    std::sort(spans_.begin(), spans_.end(),
              [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
    const char* at = text.data();
    for (const auto& [span, replacement] : spans_) {
      out.append(at, span.data());
      out += replacement;
      at = span.data() + span.size();
    }
    out.append(at, text.data() + text.size());
    return out;
  }

 private:
  void replace(json::Raw value, const std::string& uri) {
    const std::string shown = shown_uri(server_, uri, own_uris_);
    if (shown != uri) spans_.emplace_back(value, json::quoted(shown));
  }

  std::string_view server_;
  bool own_uris_;
  std::vector<std::pair<json::Raw, std::string>> spans_;
};

}  // namespace

std::string shown_uri(std::string_view server, std::string_view original, bool own_uris) {
  if (own_uris && !mcp::parse_exposed_uri(original)) return std::string(original);
  return mcp::exposed_uri(server, original);
}

std::string expose_result_uris(mcp::Method method, json::Raw result, std::string_view server,
                               bool own_uris) {
  if (!json::may_mention(result, "uri")) return {};  // most results
  Replacements replacements(server, own_uris);
  switch (method) {
    case mcp::Method::tools_call:
      if (const auto list = json::find(result, "content")) replacements.contents(*list);
      break;
    case mcp::Method::resources_read:
      if (const auto list = json::find(result, "contents")) replacements.items(*list);
      break;
    case mcp::Method::resources_directory_read:
      if (const auto list = json::find(result, "resources")) replacements.items(*list);
      break;
    case mcp::Method::skills_get:
      if (const auto entry = json::find(result, "skill")) replacements.skill(*entry);
      break;
    case mcp::Method::prompts_get:
      if (const auto list = json::find(result, "messages")) {
        json::Elements elements(*list);
        while (const auto message = elements.next()) {
          const auto block = json::find(*message, "content");
          if (!block) continue;
          if (json::is_array(*block)) replacements.contents(*block);
          if (json::is_object(*block)) replacements.content(*block);
        }
      }
      break;
    default:
      break;
  }
  return replacements.apply(result);
}

std::string expose_error_uris(json::Raw error, std::string_view server, bool own_uris) {
  Replacements replacements(server, own_uris);
  if (const auto data = json::find(error, "data")) replacements.uri_member(*data, "uri");
  return replacements.apply(error);
}

std::string expose_definition(mcp::ListKind kind, json::Raw definition, std::string_view exposed,
                              std::string_view server, bool own_uris) {
  json::Splice splice(definition);
  splice.set(mcp::info(kind).id_member, json::quoted(exposed));
  std::string text = splice.text();
  Replacements replacements(server, own_uris);
  if (kind == mcp::ListKind::skills) {
    if (const auto files = json::find(text, "resources")) replacements.items(*files);
    std::string mapped = replacements.apply(text);
    return mapped.empty() ? text : mapped;
  }
  if (kind != mcp::ListKind::tools) return text;
  if (const auto meta = json::find(text, "_meta")) replacements.interfaces(*meta);
  std::string mapped = replacements.apply(text);
  return mapped.empty() ? text : mapped;
}

}  // namespace mcpx::registry
