// Listener: the subscriptions/listen that mcpx holds open with a modern server, whatever the
// transport (2026-07-28 basic/patterns/subscriptions).
//
// It asks for the changes the server declares and for the resources that are watched, checks what
// was agreed to, and passes on what comes under its own subscription id. A filter cannot be changed
// while a subscription lasts: when other resources are watched another one is opened, and the old
// one is closed once that is acknowledged, so that nothing is missed between the two. One that
// ends, by a result, a cancelled notification or a drop, is opened again after a back-off, and what
// it covered is read again, since what was said meanwhile is lost. Owned by its link, which sends
// the requests. Thread: home shard.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/method.hpp"
#include "mcp/probe.hpp"
#include "rpc/message.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "runtime/waiter.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {

class Listener {
 public:
  // Sends subscriptions/listen with these params, says its id at once, and waits without a deadline
  // until it is answered, cannot be any more, or was closed.
  using Hold = std::function<Task<Reply>(std::string params, std::optional<rpc::Number>& id)>;
  // Tells the server that the subscription is not wanted any more, and ends the wait for it.
  using Close = std::function<void(rpc::Number id)>;

  // `events` are the link's and outlive the Listener.
  Listener(runtime::Shard& home, const LinkEvents& events, Hold hold, Close close);

  // Until stop(). Once.
  Task<void> run(const mcp::ServerFacts& facts, std::string client_info);
  // A notification of the server. True if it came under this subscription, or ended it: see over().
  // `own` is the id of the request whose stream it came on, where there are such streams: what
  // carries no subscription id is ours only there.
  bool take(const rpc::Message& notification, std::optional<rpc::Number> own = std::nullopt);
  // The id of a subscription that the server has cancelled; the link ends the wait for it.
  static std::optional<rpc::Number> cancelled_by(const rpc::Message& notification);
  bool is_open(rpc::Number id) const;

  // True while the server has agreed to tell of every change of that list.
  bool covers(mcp::ListKind kind) const;

  // Has the server tell of updates of that resource, too (LinkEvents::updated), until unwatch().
  // Errors: upstream.not_subscribed, when it does not agree; upstream.timeout; upstream.stopped.
  Task<Result<void>> watch(std::string uri, TimePoint deadline);
  void unwatch(const std::string& uri);
  void stop();

 private:
  using Kinds = std::array<bool, mcp::kListKinds>;
  using Verdict = std::shared_ptr<runtime::OneShot<Result<void>>>;
  struct Stream {  // one subscription
    std::optional<rpc::Number> id;
    std::set<std::string> uris;  // it asked for
    TimePoint since{};
    bool acknowledged = false, ended = false;
    Reply end = Error();
  };
  using StreamPtr = std::shared_ptr<Stream>;
  struct Watch {
    bool agreed = false;  // by the server, at least once
    std::vector<Verdict> waiting;
  };

  std::set<std::string> next_uris() const;
  bool due() const;
  void open();
  Task<void> hold(StreamPtr stream, std::string params);
  void close(const StreamPtr& stream);
  void sweep();
  void arm();
  void opening_ended();
  void current_ended();
  void back_off(const Stream& stream);
  void refused_for_good(const Reply& end);
  void unanswered();
  void acknowledged(const StreamPtr& stream, json::Raw params);
  void check_kinds(json::Raw agreed);
  void check_uris(const Stream& stream, json::Raw agreed);
  void refuse(const std::set<std::string>& uris, const Error& why);
  StreamPtr stream_of(const rpc::Message& notification, std::optional<rpc::Number> own) const;
  bool waiting_for_any() const;
  void remark(const std::string& text);

  runtime::Shard& home_;
  const LinkEvents& events_;
  Hold hold_;
  Close close_;
  std::string meta_;  // of every request
  Kinds wanted_{}, agreed_{};
  std::map<std::string, Watch> watches_;
  StreamPtr current_;        // the one that counts
  StreamPtr opening_;        // about to take its place
  bool changed_ = false;     // other resources are watched than `current_` and `opening_` ask for
  bool one_by_one_ = false;  // a filter with several new resources was refused
  bool refuses_ = false;     // the server does not know subscriptions/listen
  bool reopened_ = false, stopped_ = false;
  std::size_t failures_ = 0;
  TimePoint retry_at_{};
  runtime::Waiter event_;
  runtime::Watchdog alarm_;
  runtime::TaskGroup streams_;
};

}  // namespace mcpx::upstream
