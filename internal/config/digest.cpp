// What is stored of a server is found again by this digest.
#include "base/digest.hpp"

#include "config/config.hpp"

namespace mcpx::config {
namespace {

// Each text stands behind its size and each list behind its count, so that no two servers are
// written alike: {"ab", "c"} is not {"a", "bc"}.
class Serialised {
 public:
  void add(std::string_view text) {
    add_number(text.size());
    text_ += text;
  }
  void add_number(std::size_t number) { text_ += std::to_string(number) + ':'; }
  void add_list(const std::vector<std::string>& list) {
    add_number(list.size());
    for (const std::string& item : list)
      add(item);
  }
  void add_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
    add_number(pairs.size());
    for (const auto& [name, value] : pairs) {
      add(name);
      add(value);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string digest(const Server& server) {
  Serialised out;
  out.add("mcpx server 1");  // of this serialisation: another field is another number
  out.add(server.command);
  out.add_list(server.args);
  out.add_pairs(server.env);
  out.add_list(server.inherit_env);
  out.add(server.cwd);
  out.add(server.url);
  out.add_pairs(server.headers);
  out.add_number(static_cast<std::size_t>(server.protocol));
  out.add_number(static_cast<std::size_t>(server.http_transport));
  return sha256_hex(out.text());
}

}  // namespace mcpx::config
