// SlowCalls: tells a call that it has been running for a while, once.
//
// One timer per shard that only runs while such calls come: a call that is answered at once costs
// two pointers. Thread: home shard only.
#pragma once

#include <cstdint>

#include "runtime/shard.hpp"
#include "runtime/timer.hpp"

namespace mcpx::downstream {

class SlowCalls {
 public:
  // Two ticks at most, one at least, until slow() is called.
  static constexpr Milliseconds kTick{250};

  explicit SlowCalls(runtime::Shard& shard);
  SlowCalls(const SlowCalls&) = delete;
  SlowCalls& operator=(const SlowCalls&) = delete;

  class Entry {
   public:
    explicit Entry(SlowCalls& list);
    virtual ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class SlowCalls;
    virtual void slow() = 0;  // must not destroy an entry

    SlowCalls& list_;
    std::uint32_t born_;
    bool told_ = false;
    Entry* previous_ = nullptr;
    Entry* next_;
  };

 private:
  void tick();

  runtime::Watchdog timer_;
  std::uint32_t now_ = 0;
  std::uint32_t quiet_since_ = 0;
  bool ticking_ = false;
  Entry* first_ = nullptr;
};

}  // namespace mcpx::downstream
