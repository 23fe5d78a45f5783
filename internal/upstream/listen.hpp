// Listener: the subscriptions/listen that mcpx holds open with a modern server, whatever the
// transport (2026-07-28 basic/patterns/subscriptions).
//
// It asks for the changes the server declares, checks what was agreed to, and passes on what comes
// under its own subscription id. A subscription that ends, by a result, a cancelled notification or
// a drop, is opened again after a back-off, and what it covered is read again, since what was said
// meanwhile is lost. Owned by its link, which sends the request. Thread: home shard.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/method.hpp"
#include "mcp/probe.hpp"
#include "rpc/message.hpp"
#include "runtime/timer.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {

class Listener {
 public:
  // Sends subscriptions/listen with these params, calls opened() with its id, and waits without a
  // deadline until it is answered or cannot be any more.
  using Hold = std::function<Task<Reply>(std::string params)>;

  // `events` are the link's and outlive the Listener.
  Listener(runtime::Shard& home, const LinkEvents& events, Hold hold);

  // Until stop(), or until there is nothing (more) to listen to. Once.
  Task<void> run(const mcp::ServerFacts& facts, std::string client_info);
  void opened(rpc::Number id);
  // A notification of the server. True if it came under this subscription, or ended it: see over().
  // What carries no subscription id is ours only on a stream of our own.
  enum class Channel : std::uint8_t { shared, own };
  bool take(const rpc::Message& notification, Channel channel);
  // The id of a subscription that the server has cancelled; the link ends the wait for it.
  static std::optional<rpc::Number> cancelled_by(const rpc::Message& notification);
  bool is_open(rpc::Number id) const { return id_ == id; }

  // True while the server has agreed to tell of every change of that list.
  bool covers(mcp::ListKind kind) const;
  void stop();

 private:
  using Kinds = std::array<bool, mcp::kListKinds>;
  void acknowledged(json::Raw params);
  void remark(const std::string& text);
  void over();
  bool worth_another(const Reply& end);

  const LinkEvents& events_;
  Hold hold_;
  Kinds wanted_{}, agreed_{};
  std::optional<rpc::Number> id_;
  bool reopened_ = false, stopped_ = false;
  runtime::Timer pause_;
};

}  // namespace mcpx::upstream
