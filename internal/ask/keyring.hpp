// Keyring: the keys of seals over time. A new one each day, made a while before it is used, so that
// whoever shares the store has it by then; old ones stay for as long as a requestState may live.
//
// Thread: home shard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ask/seal.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "runtime/timer.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::ask {

// A key that is due, when these are there, the oldest first. Pure.
std::optional<Seal::Key> due_key(const std::vector<Seal::Key>& keys, std::int64_t now);

class Keyring {
 public:
  using SealPtr = std::shared_ptr<const Seal>;

  Keyring(runtime::Shard& home, store::Store& store) : store_(store), pause_(home) {}

  // What to seal with now. Null: the store could not be read.
  Task<SealPtr> refresh();
  // Refreshes it now and then until stop().
  Task<void> tend(std::function<void(SealPtr)> publish);
  void stop() { pause_.cancel(); }

 private:
  store::Store& store_;
  runtime::Timer pause_;
  bool read_ = false;  // the store was
};

}  // namespace mcpx::ask
