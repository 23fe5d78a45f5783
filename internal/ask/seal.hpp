// Seal: text that travels through a client and comes back unread and unchanged: AES-256-GCM, made
// with the newest of our keys and opened with whichever made it (2026-07-28 basic/patterns/mrtr:
// requestState is attacker-controlled). Immutable once made. Thread: any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::ask {

class Seal {
 public:
  struct Key {
    std::string id;  // hexadecimal; names the key in what it sealed
    std::array<unsigned char, 32> bytes{};
    std::int64_t from = 0;  // Unix milliseconds: seals since
  };
  static Key random_key(std::int64_t from = 0);

  // At least one, the oldest first.
  explicit Seal(std::vector<Key> keys);

  // True for what looks like close()'s: whether it is, open() says.
  static bool is_sealed(std::string_view text);

  // Printable, safe in JSON and in headers; begins with a version. `now` in Unix milliseconds.
  std::string close(std::string_view text, std::int64_t now) const;
  // nullopt: not made with one of these keys, or changed since.
  std::optional<std::string> open(std::string_view sealed) const;

 private:
  const Key& key_at(std::int64_t now) const;
  const Key* key_named(std::string_view id) const;

  std::vector<Key> keys_;
};

}  // namespace mcpx::ask
