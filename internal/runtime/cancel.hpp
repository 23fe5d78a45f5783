// CancelSource: the fact that a caller no longer wants its answer, and who wants to know.
//
// Lives in the coroutine that serves the caller, on its shard. Subscribers are called on that
// shard, at once if it already fired; one that lives elsewhere posts to its own. Thread: home shard
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mcpx::runtime {

class CancelSource {
 public:
  using Callback = std::function<void(const std::string& reason)>;

  // Keeps the subscription until destroyed.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(CancelSource& source, std::uint64_t key) : source_(&source), key_(key) {}
    Subscription(Subscription&& other) noexcept
        : source_(std::exchange(other.source_, nullptr)), key_(other.key_) {}
    Subscription& operator=(Subscription&& other) noexcept {
      std::swap(source_, other.source_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Subscription() {
      if (source_) source_->drop(key_);
    }

   private:
    CancelSource* source_ = nullptr;
    std::uint64_t key_ = 0;
  };

  void cancel(std::string reason) {
    if (cancelled_) return;
    cancelled_ = true;
    reason_ = std::move(reason);
    auto callbacks = std::exchange(callbacks_, {});
    for (auto& [key, callback] : callbacks)
      callback(reason_);
  }
  bool cancelled() const { return cancelled_; }
  const std::string& reason() const { return reason_; }

  [[nodiscard]] Subscription subscribe(Callback callback) {
    if (cancelled_) {
      callback(reason_);
      return {};
    }
    callbacks_.emplace_back(++last_key_, std::move(callback));
    return {*this, last_key_};
  }

 private:
  void drop(std::uint64_t key) {
    std::erase_if(callbacks_, [key](const auto& entry) { return entry.first == key; });
  }

  bool cancelled_ = false;
  std::string reason_;
  std::uint64_t last_key_ = 0;
  std::vector<std::pair<std::uint64_t, Callback>> callbacks_;
};

}  // namespace mcpx::runtime
