// Reading replies of /v1 for display. Thread: any.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client.hpp"
#include "command.hpp"

namespace mcpx::cli {

namespace bj = boost::json;

// Asks and answers the parsed body of a 200 or 202. Otherwise the failure was told (with --json:
// the daemon's error is on standard output) and `code` is how to end.
struct Fetched {
  std::string body;
  bj::object object;
  unsigned status = 0;  // 200 or 202, while `code` is 0
  int code = 0;
};
Fetched fetch(const Context& context, std::string_view method, const std::string& target,
              std::string_view body, Milliseconds timeout);

// With a default for what is absent or of another type: the daemon may be newer or older.
std::string text_of(const bj::object& object, std::string_view key,
                    std::string_view otherwise = "");
std::int64_t number_of(const bj::object& object, std::string_view key);
const bj::array* array_of(const bj::object& object, std::string_view key);
const bj::object* object_of(const bj::object& object, std::string_view key);

std::string ago(std::int64_t milliseconds);  // "3 d 4 h", "12 s"

// Indented JSON for people.
std::string pretty(const bj::value& value, int indent = 0);

void print(std::string_view text);  // to standard output

}  // namespace mcpx::cli
