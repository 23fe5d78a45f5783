// Breaker: refuses calls to a server that failed several in a row, so that a call to a dead server
// costs microseconds instead of its whole timeout. After a cooldown one call is let through as a
// trial; its outcome closes the breaker or opens it again.
//
// One per server, asked on every shard: a few atomics, no order among them. Only failures of the
// server count (mcpx could not reach it, it broke off, it did not answer in time); an error it
// answers with is an answer. Thread: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace mcpx::upstream {

class Breaker {
 public:
  enum class Verdict : std::uint8_t { pass, trial, refuse };

  // Opens after `failures` in a row; 0: never.
  Breaker(std::size_t failures, Milliseconds cooldown);

  // Whoever gets pass or trial reports exactly one of the three below, with the same verdict.
  Verdict ask(TimePoint now);
  bool succeeded(Verdict verdict);              // true if this closed it
  bool failed(Verdict verdict, TimePoint now);  // true if this opened it
  void inconclusive(Verdict verdict);           // cancelled: says nothing about the server

  bool reset();  // the server is known to be well; true if this closed it

  bool open() const { return open_until_.load(std::memory_order_relaxed) != 0; }
  TimePoint retry_at() const;  // meaningful while open()

 private:
  const std::size_t threshold_;
  const Milliseconds cooldown_;
  std::atomic<std::size_t> failures_{0};
  std::atomic<Clock::rep> open_until_{0};  // 0: closed
  std::atomic<bool> trial_{false};         // one is under way
};

}  // namespace mcpx::upstream
