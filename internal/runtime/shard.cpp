#include "runtime/shard.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>
#include <utility>

#include "base/check.hpp"

namespace mcpx::runtime {
namespace {
thread_local Shard* current_shard = nullptr;
}  // namespace

struct Shard::Impl {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<Executor> guard{context.get_executor()};
  std::thread thread;
};

Shard::Shard(std::size_t index) : impl_(std::make_unique<Impl>()), index_(index) {}

Shard::~Shard() {
  finish();
  join();
}

void Shard::start() {
  impl_->thread = std::thread([this] { run(); });
}

void Shard::run() {
  current_shard = this;
  impl_->context.run();
  current_shard = nullptr;
}

void Shard::finish() {
  impl_->guard.reset();
}

void Shard::join() {
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Shard::post(std::function<void()> work) {
  boost::asio::post(impl_->context.get_executor(), std::move(work));
}

bool Shard::is_current() const {
  return current_shard == this;
}

Shard& Shard::current() {
  MCPX_CHECK(current_shard != nullptr);
  return *current_shard;
}

boost::asio::io_context& Shard::context() {
  return impl_->context;
}
Executor Shard::executor() {
  return impl_->context.get_executor();
}

}  // namespace mcpx::runtime
