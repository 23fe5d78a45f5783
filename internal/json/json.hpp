// JSON as mcpx uses it: text that is validated once, then walked, spliced and written as text.
//
// A Raw is a span of valid JSON, trimmed of white space, inside a buffer somebody else keeps. No
// payload is ever decoded into a tree and encoded again (design: Lossless). Pure. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace mcpx::json {

using Raw = std::string_view;

struct Limits {
  std::size_t depth = 256;  // levels of arrays and objects; an empty one is a leaf
};

// Full validation of one document by RFC 8259, strict UTF-8 and depth included; no byte order mark.
// Numbers that no machine type holds (1e400, 40 digits) are valid, and so are escapes of lone
// surrogates ("\ud800"), which the grammar allows and lossless forwarding keeps.
// Errors: json.syntax, json.utf8, json.depth, json.empty, with the byte offset.
//
// Told of members on the way, it saves whoever wants their values a walk of its own.
class MemberWatch {
 public:
  // A member of the outermost object (level 1), or of an object that is a value there (level 2).
  // Its value is put where this answers, once its end is known; null: it is of no interest. `key`
  // is as written, with its quotes. Of text that turns out to be invalid some members may be told.
  virtual Raw* member(Raw key, std::size_t level) = 0;

 protected:
  ~MemberWatch() = default;
};
Result<void> validate(std::string_view text, const Limits& limits, MemberWatch* watch = nullptr);

enum class Kind { object, array, string, number, boolean, null };
Kind kind_of(Raw value);
inline bool is_object(Raw value) {
  return !value.empty() && value.front() == '{';
}
inline bool is_array(Raw value) {
  return !value.empty() && value.front() == '[';
}
inline bool is_string(Raw value) {
  return !value.empty() && value.front() == '"';
}

// --- Walking valid text. Behaviour on text that was not validated is bounded but unspecified.

// Steps through the members of an object: `while (auto m = members.next())`.
struct Member {
  Raw key;  // with its quotes, as written
  Raw value;
  bool key_is(std::string_view text) const;  // compares the unescaped key
};
class Members {
 public:
  explicit Members(Raw object);
  std::optional<Member> next();

 private:
  const char* at_;
  const char* end_;
};
class Elements {
 public:
  explicit Elements(Raw array);
  std::optional<Raw> next();

 private:
  const char* at_;
  const char* end_;
};

// The first member of that (unescaped) name; nullopt when absent or not an object.
std::optional<Raw> find(Raw object, std::string_view key);
// find() along a path of keys.
std::optional<Raw> find_path(Raw object, std::initializer_list<std::string_view> keys);
template <class... Keys>
std::optional<Raw> find(Raw object, std::string_view key, Keys... rest) {
  return find_path(object, {key, std::string_view(rest)...});
}

// False only if no object in the (valid) text has a member of that name, at whatever depth: a sweep
// over quotes that is much cheaper than a walk. True may be a false alarm (a value that reads like
// it, an escape that could spell it).
bool may_mention(Raw text, std::string_view key);

// The UTF-8 text of a string token; nullopt when it is not a string or holds a lone surrogate.
std::optional<std::string> decode_string(Raw value);
std::optional<std::string> find_string(Raw object, std::string_view key);
std::optional<std::int64_t> as_integer(Raw value);  // an integer that fits; 1.0 counts as 1
bool is_integer(Raw value);  // a number token without fraction, of any size: 7, 7.0, 70e-1, 1e400
std::optional<bool> as_bool(Raw value);
// Below, at or above 0 as `a` is less than, equal to or greater than `b`, exactly, whatever their
// size; nullopt when one of them is no number.
std::optional<int> compare_numbers(Raw a, Raw b);

// --- Writing.

// With quotes, escaped. Bytes that are not UTF-8 become U+FFFD, so the result is always valid.
void append_string(std::string& out, std::string_view utf8);
std::string quoted(std::string_view utf8);

// Object builds `{...}` member by member into a string it owns.
class ObjectBuilder {
 public:
  ObjectBuilder() : out_("{") {}
  ObjectBuilder& raw(std::string_view key, Raw value);  // an empty value adds no member
  ObjectBuilder& string(std::string_view key, std::string_view value);
  ObjectBuilder& integer(std::string_view key, std::int64_t value);
  ObjectBuilder& boolean(std::string_view key, bool value);
  std::string take();

 private:
  void key(std::string_view key);
  std::string out_;
};

}  // namespace mcpx::json
