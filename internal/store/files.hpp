// The state directory: its modes, its lock, and setting a damaged file aside. Private to the room.
// Thread: writer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace mcpx::store {

inline constexpr const char* kDatabaseName = "mcpx.db";
inline constexpr const char* kLockName = "mcpx.lock";

// Holds the lock of a state directory until destroyed.
class DirectoryLock {
 public:
  DirectoryLock() = default;
  explicit DirectoryLock(int descriptor) : descriptor_(descriptor) {}
  DirectoryLock(DirectoryLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  DirectoryLock& operator=(DirectoryLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~DirectoryLock();

 private:
  int descriptor_ = -1;
};

// What the operator should hear of: modes that were corrected, files set aside.
using Remarks = std::vector<std::string>;

// Makes the directory (mode 0700) and what is above it, and answers its path without symbolic
// links. Error: store.unavailable.
Result<std::string> prepare_directory(const std::string& path, Remarks& remarks);

// Error: store.locked, with the process that has it.
Result<DirectoryLock> lock_directory(const std::string& directory);

// Makes the file if need be and sees that it and its companions have mode 0600. Errors:
// store.damaged when there is something that is no database, store.failed.
Result<void> prepare_file(const std::string& file, Remarks& remarks);

// Renames a file and its -wal, -shm and -journal to NAME.corrupt-TIME, never over another, and
// answers the new name.
Result<std::string> set_aside(const std::string& file);

// "20261130T071500Z"
std::string utc_stamp();

}  // namespace mcpx::store
