// The table-driven reader: one table of keys per mapping, one small function per type of value.
//
// Every function reports what is wrong with its value and reads on, so that one run of the loader
// shows every problem of a file. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "config/config.hpp"
#include "config/document.hpp"
#include "config/problems.hpp"
#include "config/suggest.hpp"

namespace mcpx::config {

struct Context {
  Problems& problems;
  const Environment& environment;
  std::string directory;  // of the file; `${file:...}` is relative to it
  std::string file;
  bool forgive_references = false;  // inside a disabled server nothing needs to resolve
  std::vector<std::string> secrets, warnings;

  void warn(Position at, std::string message);
};

// One key as found in the file, with the example that its table gives.
struct Field {
  std::string_view name;
  std::string_view example;  // a right spelling, "call_timeout: 60s"
  Position at;               // of the key
  const Node& value;

  // Where to point for the value. An empty value has no place of its own.
  Position value_at() const { return value.kind == Node::Kind::null ? at : value.at; }
};

template <class Target>
struct Key {
  std::string_view name;
  void (*read)(Context&, const Field&, Target&);
  std::string_view example;
};

std::string describe(const Node& node);  // "a list", "the number 5", "nothing"
void wrong_type(Context& context, const Field& field, std::string_view expected);
void out_of_range(Context& context, const Field& field, std::string_view range);

// False (reported) unless the value is a mapping; an empty value is a mapping without keys.
bool require_mapping(Context& context, const Field& field);
void unknown_key(Context& context, const Node::Entry& entry,
                 std::span<const std::string_view> known);

template <class Target>
void read_mapping(Context& context, const Field& field, std::span<const Key<Target>> table,
                  Target& target) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    const Key<Target>* found = nullptr;
    for (const Key<Target>& key : table) {
      if (key.name == entry.key) found = &key;
    }
    if (found) {
      found->read(context, {found->name, found->example, entry.at, *entry.value}, target);
      continue;
    }
    std::vector<std::string_view> known;
    for (const Key<Target>& key : table)
      known.push_back(key.name);
    unknown_key(context, entry, known);
  }
}

// --- Values. Each leaves `out` alone when it reports a problem.

using Pairs = std::vector<std::pair<std::string, std::string>>;
enum class Secrecy { secret, place };  // whether what a reference yields may be shown

// Text in which ${...} references are not looked for.
bool read_plain_text(Context& context, const Field& field, std::string& out);
bool read_text(Context& context, const Field& field, Secrecy secrecy, std::string& out);
void read_bool(Context& context, const Field& field, bool& out);
void read_integer(Context& context, const Field& field, std::uint64_t minimum,
                  std::uint64_t maximum, std::size_t& out);
void read_size(Context& context, const Field& field, std::uint64_t minimum, std::uint64_t maximum,
               std::size_t& out);
void read_duration(Context& context, const Field& field, Milliseconds minimum, Milliseconds& out);
// Items and values may also be numbers and booleans: they are taken as written.
void read_list(Context& context, const Field& field, std::vector<std::string>& out);
void read_text_list(Context& context, const Field& field, Secrecy secrecy,
                    std::vector<std::string>& out);
bool read_choice(Context& context, const Field& field, std::span<const std::string_view> choices,
                 std::size_t& index);

// --- References (references.cpp): ${env:NAME}, ${file:PATH}, and $${ for a literal ${.

struct Expansion {
  bool ok = true;
  std::string text;
};
Expansion expand(Context& context, std::string_view text, Position at, Secrecy secrecy);
void add_secret(Context& context, std::string_view value);
bool looks_secret(std::string_view name);  // of a variable or an option: holds KEY, TOKEN, ...

// The pairs of a mapping like `env` and `headers`, values expanded; those that `accept`, called
// with the field of the pair and its value, reports are left out.
template <class Accept>
void read_pairs(Context& context, const Field& field, Secrecy secrecy, Pairs& out, Accept accept) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    const Field pair = {entry.key, field.example, entry.at, *entry.value};
    if (entry.value->kind != Node::Kind::scalar) {
      wrong_type(context, pair, "text");
      continue;
    }
    Expansion expansion = expand(context, entry.value->scalar, pair.value_at(), secrecy);
    if (!expansion.ok || !accept(pair, expansion.text)) continue;
    out.emplace_back(entry.key, std::move(expansion.text));
  }
}

// --- The tables, as adapters from a member to its reader.

template <auto Member, class Target>
void text_key(Context& context, const Field& field, Target& target) {
  read_plain_text(context, field, target.*Member);
}
template <auto Member, class Target>
void place_key(Context& context, const Field& field, Target& target) {
  read_text(context, field, Secrecy::place, target.*Member);
}
template <auto Member, class Target>
void list_key(Context& context, const Field& field, Target& target) {
  read_list(context, field, target.*Member);
}
template <auto Member, std::uint64_t Minimum, std::uint64_t Maximum, class Target>
void integer_key(Context& context, const Field& field, Target& target) {
  read_integer(context, field, Minimum, Maximum, target.*Member);
}
template <auto Member, std::uint64_t Minimum, std::uint64_t Maximum, class Target>
void size_key(Context& context, const Field& field, Target& target) {
  read_size(context, field, Minimum, Maximum, target.*Member);
}
template <auto Member, std::int64_t Minimum, class Target>
void duration_key(Context& context, const Field& field, Target& target) {
  read_duration(context, field, Milliseconds{Minimum}, target.*Member);
}

}  // namespace mcpx::config
