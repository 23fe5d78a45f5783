// Splice: a valid object with some members replaced, removed or added, everything else byte for byte
// as it was, white space and order included. Edits apply to the first member of a name. Pure.
// Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace mcpx::json {

class Splice {
 public:
  // `object` must outlive the Splice.
  explicit Splice(Raw object);

  // Replaces the value in place, or adds the member at the end.
  Splice& set(std::string_view key, std::string raw_value);
  // Adds it only where absent.
  Splice& set_default(std::string_view key, std::string raw_value);
  Splice& remove(std::string_view key);

  bool changed() const { return !edits_.empty(); }
  void append_to(std::string& out) const;
  std::string text() const;

 private:
  struct Edit {
    std::string key;
    std::optional<std::string> value;  // nullopt: remove
    bool only_if_absent = false;
  };
  Raw object_;
  std::vector<Edit> edits_;
};

}  // namespace mcpx::json
