// The head of an HTTP/1.1 message as mcpx keeps it: fields in order in one arena, looked up without
// case. Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::http1 {

class Fields {
 public:
  void add(std::string_view name, std::string_view value);
  void clear();  // keeps the memory
  void reserve(std::size_t bytes, std::size_t fields);
  // The first value of that name, compared without case; nullopt when absent.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  std::size_t size() const { return entries_.size(); }
  std::string_view name_at(std::size_t i) const;
  std::string_view value_at(std::size_t i) const;

 private:
  struct Entry {
    std::uint32_t at, name_size, value_size;
    std::uint32_t hint;  // of the name: rules out most others without looking at its text
  };
  static std::uint32_t hint_of(std::string_view name);
  bool is(const Entry& entry, std::string_view name, std::uint32_t hint) const;

  std::string arena_;
  std::vector<Entry> entries_;
};

struct RequestHead {
  std::string method;     // "POST"
  std::string target;     // origin form: path and query; an absolute-form target is reduced to it
  std::string authority;  // Host, or the authority of an absolute-form target
  Fields fields;
  bool keep_alive = true;

  std::string_view path() const;   // the target before '?'
  std::string_view query() const;  // after '?', or empty
};

struct ResponseHead {
  unsigned status = 0;
  std::string reason;
  Fields fields;
  bool keep_alive = true;
};

bool equals_ignoring_case(std::string_view a, std::string_view b);
std::string_view reason_phrase(unsigned status);

}  // namespace mcpx::http1
