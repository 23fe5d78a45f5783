#include "runtime/shard.hpp"

#include <utility>

#include "base/check.hpp"
#include "runtime/loop.hpp"

namespace mcpx::runtime {
namespace {
thread_local Shard* current_shard = nullptr;
}  // namespace

Shard::Shard(std::size_t index) : loop_(std::make_unique<Loop>()), index_(index) {}

Shard::~Shard() {
  finish();
  join();
}

void Shard::start() {
  thread_ = std::thread([this] { run(); });
}

void Shard::run() {
  current_shard = this;
  loop_->run();
  current_shard = nullptr;
}

void Shard::finish() {
  loop_->finish();
}

void Shard::join() {
  if (thread_.joinable()) thread_.join();
}

void Shard::post(std::function<void()> work) {
  loop_->post(std::move(work));
}

bool Shard::is_current() const {
  return current_shard == this;
}

Shard& Shard::current() {
  MCPX_CHECK(current_shard != nullptr);
  return *current_shard;
}

}  // namespace mcpx::runtime
