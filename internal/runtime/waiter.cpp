#include "runtime/waiter.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/check.hpp"
#include "runtime/shard.hpp"

namespace mcpx::runtime {

struct Waiter::Pending {
  virtual ~Pending() = default;
  virtual void resume() = 0;
};

namespace {

template <class Base, class Handler>
struct PendingHandler final : Base {
  explicit PendingHandler(Handler handler_in) : handler(std::move(handler_in)) {}
  void resume() override { boost::asio::post(Shard::current().executor(), std::move(handler)); }
  Handler handler;
};

}  // namespace

Waiter::Waiter() = default;
Waiter::~Waiter() = default;

Task<void> Waiter::wait() {
  if (std::exchange(woken_, false)) co_return;
  MCPX_CHECK(!pending_);
  auto initiate = [this](auto handler) {
    using Handler = decltype(handler);
    pending_ = std::make_unique<PendingHandler<Pending, Handler>>(std::move(handler));
  };
  auto operation = boost::asio::async_initiate<const boost::asio::deferred_t, void()>(
      initiate, boost::asio::deferred);
  co_await std::move(operation);
}

void Waiter::wake() {
  if (auto pending = std::move(pending_)) {
    pending->resume();
  } else {
    woken_ = true;
  }
}

}  // namespace mcpx::runtime
