#include "json/grammar.hpp"

#include <array>
#include <string>
#include <utility>

#include "json/scan.hpp"
#include "json/utf8.hpp"

namespace mcpx::json {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

class Checker {
 public:
  Checker(std::string_view text, std::size_t depth, MemberWatch* watch)
      : begin_(text.data()),
        at_(begin_),
        end_(begin_ + text.size()),
        depth_(depth),
        watch_(watch) {}

  std::optional<Fault> run() {
    while (value()) {
      value_ends();
      if (!after_value()) break;
    }
    return fault_;
  }

 private:
  bool fail(const char* what, Fault::Kind kind = Fault::Kind::syntax) {
    fault_ = Fault{kind, static_cast<std::size_t>(at_ - begin_), what};
    return false;
  }
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  void white() { at_ = skip_white(at_, end_); }

  // What is watched: the members of the outermost object, and those of objects among its values.
  bool watched() const {
    return watch_ && !open_.empty() && open_.size() <= kWatched && open_.front() == '{';
  }
  void key_ends(const char* begin) {
    if (!watched()) return;
    slots_[open_.size() - 1] = watch_->member(Raw(begin, length_to(at_, begin)), open_.size());
  }
  void value_begins() {
    if (watched()) values_[open_.size() - 1] = at_;
  }
  void value_ends() {
    if (!watched()) return;
    const std::size_t level = open_.size() - 1;
    Raw* const slot = std::exchange(slots_[level], nullptr);
    if (slot) *slot = Raw(values_[level], length_to(at_, values_[level]));
  }
  static std::size_t length_to(const char* end, const char* begin) {
    return static_cast<std::size_t>(end - begin);
  }

  // Reads one scalar or empty container, after opening as many containers as stand before it.
  bool value() {
    for (;;) {
      white();
      if (at_ == end_) return fail("the text ends where a value should be");
      const char c = *at_;
      value_begins();
      if (c == '"') return string();
      if (c != '{' && c != '[') return c == '-' || is_digit(c) ? number() : literal();
      ++at_;
      white();
      if (peek() == (c == '{' ? '}' : ']')) {
        ++at_;
        return true;
      }
      if (open_.size() >= depth_) return fail("nested too deep", Fault::Kind::depth);
      open_.push_back(c);
      if (c == '{' && !key()) return false;
    }
  }

  // Closes what ends here. True when another value follows; false at the end or on a fault.
  bool after_value() {
    for (;;) {
      white();
      if (open_.empty()) {
        if (at_ != end_) fail("something follows the document");
        return false;
      }
      if (at_ == end_) return fail("the text ends inside an array or object");
      const bool object = open_.back() == '{';
      if (*at_ == ',') {
        ++at_;
        if (!object) return true;
        white();
        return key();
      }
      if (*at_ != (object ? '}' : ']')) {
        return fail(object ? "expected ',' or '}'" : "expected ',' or ']'");
      }
      ++at_;
      open_.pop_back();
      value_ends();
    }
  }

  bool key() {
    if (peek() != '"') return fail("expected a key");
    const char* const begin = at_;
    if (!string()) return false;
    key_ends(begin);
    white();
    if (peek() != ':') return fail("expected ':' after a key");
    ++at_;
    return true;
  }

  bool string() {
    ++at_;
    for (;;) {
      at_ = skip_plain(at_, end_);
      if (at_ == end_) return fail("the text ends inside a string");
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c == '\\') {
        if (!escape()) return false;
      } else if (c < 0x20) {
        return fail("a control character in a string");
      } else if (!sequence()) {
        return false;
      }
    }
  }

  // One or more UTF-8 sequences: text that is not English has them in runs.
  bool sequence() {
    while (at_ < end_ && static_cast<unsigned char>(*at_) >= 0x80) {
      const std::size_t length = utf8_length(at_, end_);
      if (length == 0) return fail("not UTF-8", Fault::Kind::utf8);
      at_ += length;
    }
    return true;
  }

  // Surrogate escapes need no partner here: the grammar of RFC 8259 section 7 has no such rule,
  // and refusing them would break lossless forwarding.
  bool escape() {
    ++at_;
    if (at_ == end_) return fail("the text ends inside a string");
    if (*at_ != 'u') {
      if (std::string_view("\"\\/bfnrt").find(*at_) == std::string_view::npos) {
        return fail("an unknown escape");
      }
      ++at_;
      return true;
    }
    ++at_;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (!is_hex(peek())) return fail("expected four hexadecimal digits after \\u");
    }
    return true;
  }

  bool digits() {
    if (!is_digit(peek())) return fail("expected a digit");
    while (is_digit(peek()))
      ++at_;
    return true;
  }

  bool number() {
    if (*at_ == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      if (is_digit(peek())) return fail("a number with a leading zero");
    } else if (!digits()) {
      return false;
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if ((peek() | 0x20) == 'e') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    return true;
  }

  bool literal() {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    for (const std::string_view word : {"true", "false", "null"}) {
      if (rest.substr(0, word.size()) == word) {
        at_ += word.size();
        return true;
      }
    }
    return fail("expected a value");
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t depth_;
  std::string open_;  // '{' and '[' of what is open, outermost first
  std::optional<Fault> fault_;

  static constexpr std::size_t kWatched = 2;
  MemberWatch* watch_;
  std::array<Raw*, kWatched> slots_{};          // where the value at each level goes
  std::array<const char*, kWatched> values_{};  // where it began
};

}  // namespace

std::optional<Fault> check_grammar(std::string_view text, std::size_t depth, MemberWatch* watch) {
  return Checker(text, depth, watch).run();
}

}  // namespace mcpx::json
