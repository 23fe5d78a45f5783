// Lazy: a value that is made when somebody first asks for it, and then stays. Whoever comes while
// it is being made makes it too, and all but one of those are thrown away: so making it must be a
// function of what does not change. Thread: any.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace mcpx {

template <class T>
class Lazy {
 public:
  Lazy() = default;
  ~Lazy() { delete made_.load(std::memory_order_relaxed); }
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  // `make` returns a std::shared_ptr<const T>.
  template <class Make>
  const std::shared_ptr<const T>& get(Make&& make) const {
    if (const Held* held = made_.load(std::memory_order_acquire)) return *held;
    auto fresh = std::make_unique<const Held>(std::forward<Make>(make)());
    const Held* other = nullptr;
    if (made_.compare_exchange_strong(other, fresh.get(), std::memory_order_acq_rel)) {
      return *fresh.release();
    }
    return *other;
  }

 private:
  using Held = std::shared_ptr<const T>;
  mutable std::atomic<const Held*> made_{nullptr};
};

}  // namespace mcpx
