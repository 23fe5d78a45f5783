#include "config/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <unordered_map>

namespace mcpx::config {
namespace {

Position position(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

// Thrown through yaml-cpp, which takes no other way to be stopped; caught in read_document().
struct Stop {
  Position at;
  std::string message, suggestion;
};

constexpr std::string_view kStringTag = "tag:yaml.org,2002:str";

class Builder : public YAML::EventHandler {
 public:
  Builder(std::string_view text, Problems& problems) : text_(text), problems_(problems) {}

  NodePtr root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_document_) {
      throw Stop{position(mark), "a second document starts here",
                 "keep one document in the file; is there a stray '---' or text after the end?"};
    }
    seen_document_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(Node::Kind::null, mark), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(Node::Kind::scalar, mark);
    node->scalar = value;
    node->plain = tag == "?";
    if (!node->plain && tag != "!" && tag != kStringTag) refuse_tag(mark, tag);
    require_closed_quote(mark);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) {
      throw Stop{position(mark), "the alias refers to a value that contains it",
                 "write the value out instead"};
    }
    count(target->second->weight, position(mark));
    attach(target->second, position(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<Node> node;
    YAML::anchor_t anchor;
    std::optional<std::string> key;  // of a mapping: the key whose value comes next
    Position key_at;
    std::vector<std::pair<NodePtr, Position>> merges;
    std::unordered_map<std::string, Position> seen;  // keys; a search would be quadratic
  };

  static std::shared_ptr<Node> make(Node::Kind kind, const YAML::Mark& mark) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->at = position(mark);
    return node;
  }

  [[noreturn]] static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    throw Stop{position(mark), fmt::format("the tag '{}' is not supported", tag),
               "remove the tag; quote the value if it must stay text"};
  }

  // yaml-cpp 0.7 takes the end of the file for the end of a quoted text, and would swallow the rest
  // of the configuration in silence.
  void require_closed_quote(const YAML::Mark& mark) const {
    auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (at >= text_.size()) return;
    const char quote = text_[at];
    if (quote != '"' && quote != '\'') return;
    for (++at; at < text_.size(); ++at) {
      const char next = at + 1 < text_.size() ? text_[at + 1] : '\0';
      if ((quote == '"' && text_[at] == '\\') ||
          (quote == '\'' && text_[at] == quote && next == quote)) {
        ++at;
      } else if (text_[at] == quote) {
        return;
      }
    }
    throw Stop{position(mark), "the quote that opens here is never closed",
               fmt::format("add the closing {}", quote)};
  }

  void count(std::size_t nodes, Position at) {
    nodes_ += nodes;
    if (nodes_ > kMaximumNodes) {
      throw Stop{at, fmt::format("the file holds more than {} values", kMaximumNodes),
                 "split it, or use fewer aliases"};
    }
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    if (tag != "?" && !tag.empty()) refuse_tag(mark, tag);
    if (open_.size() >= kMaximumDepth) {
      throw Stop{position(mark), fmt::format("nested more than {} levels deep", kMaximumDepth),
                 "no key of mcpx is that deep; check the brackets and the indentation"};
    }
    count(1, position(mark));
    open_.push_back({make(kind, mark), anchor, std::nullopt, {}, {}, {}});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.node->kind == Node::Kind::mapping) merge(done);
    if (done.anchor != 0) anchors_[done.anchor] = done.node;
    attach(done.node, done.node->at);
  }

  void add(std::shared_ptr<Node> node, YAML::anchor_t anchor) {
    count(1, node->at);
    if (anchor != 0) anchors_[anchor] = node;
    attach(node, node->at);
  }

  void attach(const NodePtr& node, Position at) {
    if (open_.empty()) {
      root_ = node;
      return;
    }
    Open& parent = open_.back();
    parent.node->weight += node->weight;
    if (parent.node->kind == Node::Kind::list) {
      parent.node->items.push_back(node);
    } else if (!parent.key) {
      if (node->kind != Node::Kind::scalar) {
        throw Stop{at, "a key must be text", {}};
      }
      parent.key = node->scalar;
      parent.key_at = at;
    } else {
      add_entry(parent, node);
    }
  }

  void add_entry(Open& parent, const NodePtr& value) {
    std::string key = std::move(*parent.key);
    parent.key.reset();
    if (key == "<<") {
      parent.merges.emplace_back(value, parent.key_at);
      return;
    }
    const auto [first, fresh] = parent.seen.emplace(key, parent.key_at);
    if (!fresh) {
      problems_.add(parent.key_at, fmt::format("duplicate key '{}'", key),
                    fmt::format("it is already set at line {}, column {}; keep one of them",
                                first->second.line, first->second.column));
      return;
    }
    parent.node->entries.push_back({std::move(key), parent.key_at, value});
  }

  // `<<: *defaults` or `<<: [*a, *b]`: members that the mapping itself does not set; of several
  // sources the first wins (yaml.org/type/merge.html).
  void merge(Open& done) {
    for (const auto& [value, at] : done.merges) {
      if (value->kind == Node::Kind::list) {
        for (const NodePtr& source : value->items)
          merge_one(done, source, at);
      } else {
        merge_one(done, value, at);
      }
    }
  }

  void merge_one(Open& into, const NodePtr& source, Position at) {
    if (source->kind != Node::Kind::mapping) {
      problems_.add(at, "'<<' merges a mapping, and this is none",
                    "write '<<: *anchor_of_a_mapping'");
      return;
    }
    for (const Node::Entry& entry : source->entries) {
      if (!into.seen.emplace(entry.key, entry.at).second) continue;
      count(entry.value->weight, at);
      into.node->weight += entry.value->weight;
      into.node->entries.push_back(entry);
    }
  }

  std::string_view text_;
  Problems& problems_;
  NodePtr root_;
  bool seen_document_ = false;
  std::size_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, NodePtr> anchors_;
};

Position position_of_offset(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? offset : offset - start - 1;
  return {static_cast<int>(line) + 1, static_cast<int>(column) + 1};
}

// Length of the UTF-8 sequence at the start of `text`; 0 when it is malformed, overlong, a
// surrogate or above U+10FFFF.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

bool check_characters(std::string_view text, Problems& problems) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    const char c = text[at];
    if (length == 0) {
      problems.add(position_of_offset(text, at), "the file is not UTF-8",
                   "save it as UTF-8 without other encodings mixed in");
      return false;
    }
    // yaml-cpp takes NUL and EOT for the end of the file.
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\r' && c != '\t') || code == 0x7f) {
      problems.add(position_of_offset(text, at), fmt::format("control character 0x{:02x}", code),
                   "remove it; in a quoted text write it as an escape");
      return false;
    }
    at += length;
  }
  return true;
}

std::optional<unsigned> unit_at(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  unsigned value = 0;
  for (const char c : text.substr(at + 2, 4)) {
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : 16u;
    if (digit > 15) return std::nullopt;
    value = value * 16 + digit;
  }
  return value;
}

// JSON writes characters beyond U+FFFF as two \u escapes, which yaml-cpp refuses. They become the
// character itself; everything else stays.
std::string join_surrogates(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto high = unit_at(text, at);
    const auto low =
        high && *high >= 0xd800 && *high <= 0xdbff ? unit_at(text, at + 6) : std::nullopt;
    if (low && *low >= 0xdc00 && *low <= 0xdfff) {
      const unsigned point = 0x10000 + ((*high - 0xd800) << 10) + (*low - 0xdc00);
      out += static_cast<char>(0xf0 | (point >> 18));
      out += static_cast<char>(0x80 | ((point >> 12) & 0x3f));
      out += static_cast<char>(0x80 | ((point >> 6) & 0x3f));
      out += static_cast<char>(0x80 | (point & 0x3f));
      at += 12;
    } else {
      const std::size_t length = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      out += text.substr(at, length);
      at += length;
    }
  }
  return out;
}

std::string syntax_suggestion(std::string_view text, int line, bool json) {
  std::size_t at = 0;
  for (int i = 1; i < line && at != std::string_view::npos; ++i) {
    at = text.find('\n', at);
    if (at != std::string_view::npos) ++at;
  }
  const std::string_view rest = at < text.size() ? text.substr(at) : std::string_view();
  const std::string_view row = rest.substr(0, rest.find('\n'));
  if (!json && row.find("${") != std::string_view::npos) {
    return "inside [ ] and { } quote a value that holds '${...}'";
  }
  if (json && row.find("//") != std::string_view::npos) return "JSON has no comments; remove them";
  if (!json && row.find('\t') != std::string_view::npos) return "indent with spaces, not with tabs";
  return json ? "check the commas, quotes and brackets before this place"
              : "check the indentation, and quote a value that holds ': ' or ' #'";
}

}  // namespace

const Node::Entry* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

NodePtr read_document(std::string_view text, Problems& problems) {
  if (text.size() > kMaximumFileBytes) {
    problems.add(
        {},
        fmt::format("the file has {} bytes; at most {} are read", text.size(), kMaximumFileBytes),
        "is this the right file?");
    return nullptr;
  }
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  if (!check_characters(text, problems)) return nullptr;

  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool json = start != std::string_view::npos && text[start] == '{';
  const std::string source = json ? join_surrogates(text) : std::string(text);
  Builder builder(source, problems);
  try {
    std::istringstream stream(source);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop& stop) {
    problems.add(
        stop.at, stop.message,
        stop.suggestion.empty() ? syntax_suggestion(source, stop.at.line, json) : stop.suggestion);
    return nullptr;
  } catch (const YAML::Exception& error) {
    const Position at = position(error.mark);
    problems.add(at, "syntax error: " + error.msg, syntax_suggestion(source, at.line, json));
    return nullptr;
  } catch (const std::exception& error) {
    problems.add({}, fmt::format("cannot be read: {}", error.what()), "check its syntax");
    return nullptr;
  }
  return builder.root() ? builder.root() : std::make_shared<Node>();
}

}  // namespace mcpx::config
