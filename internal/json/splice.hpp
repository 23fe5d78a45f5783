// Splice: a valid object with some members replaced, removed or added, everything else byte for
// byte as it was, white space and order included. Names are compared unescaped. A name that is set
// or removed and stands there more than once keeps no further copy, because a reader that takes the
// last one would not see the edit. A later edit of a name replaces the earlier. Pure. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.hpp"

namespace mcpx::json {

class Splice {
 public:
  // `object` must outlive the Splice. Empty stands for {}; what is no object stays as it is.
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
  Edit* find_edit(std::string_view key);
  Raw object_;
  std::vector<Edit> edits_;
};

}  // namespace mcpx::json
