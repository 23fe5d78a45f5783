// Opening the store: the directory, the lock, the file, its schema. Private to the room. Thread:
// writer.
#pragma once

#include <memory>
#include <string>

#include "store/database.hpp"
#include "store/files.hpp"
#include "store/store.hpp"

namespace mcpx::store {

struct Opened {
  DirectoryLock lock;
  std::unique_ptr<Database> database;  // null only when there is no memory for one
  Status status;
};

// Never fails: when the directory cannot be used, the database is in memory and the status and the
// log say why.
Opened open_store(const std::string& state_dir);

}  // namespace mcpx::store
