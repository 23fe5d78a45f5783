// Seal: text that travels through a client and comes back unread and unchanged: AES-256-GCM, made
// and opened with a key of ours (2026-07-28 basic/patterns/mrtr: requestState is
// attacker-controlled). Immutable once made. Thread: any.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mcpx::ask {

class Seal {
 public:
  using Key = std::array<unsigned char, 32>;
  static Key random_key();

  explicit Seal(const Key& key) : key_(key) {}

  // True for what looks like close()'s: whether it is, open() says.
  static bool is_sealed(std::string_view text);

  // Printable, safe in JSON and in headers; begins with a version.
  std::string close(std::string_view text) const;
  // nullopt: not made with this key, or changed since.
  std::optional<std::string> open(std::string_view sealed) const;

 private:
  Key key_;
};

}  // namespace mcpx::ask
