// Ways to cut a byte string before it is fed to a decoder: whole, byte by byte, at random places.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>
#include <vector>

namespace mcpx::test {

// Every cutting of `bytes` a table row is tried with.
inline std::vector<std::vector<std::string_view>> splits(std::string_view bytes) {
  std::vector<std::vector<std::string_view>> all;
  all.push_back({bytes});
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    single.push_back(bytes.substr(i, 1));
  all.push_back(single);
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::minstd_rand random(seed);
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % (seed * 7), bytes.size() - at);
      pieces.push_back(bytes.substr(at, size));
      at += size;
    }
    all.push_back(pieces);
  }
  return all;
}

}  // namespace mcpx::test
