// Problems: what is wrong with a configuration file, collected while it is read. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace mcpx::config {

struct Position {
  int line = 0, column = 0;  // 1-based; 0 when the whole file is meant
};

class Problems {
 public:
  // A file that is wrong everywhere (a binary, another program's) must not flood the terminal.
  static constexpr std::size_t kLimit = 100;

  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(Position at, std::string message, std::string suggestion);
  bool empty() const { return list_.empty(); }
  std::vector<Problem> take();  // in the order of the file

 private:
  std::string file_;
  std::vector<Problem> list_;
  std::size_t dropped_ = 0;
};

}  // namespace mcpx::config
