// Link: one open session with one server, over one transport. Opened, used and stopped by Server.
//
// request() is for what mcpx itself asks (handshake, lists); forward() for a caller's call. Both
// answer once: by the server, at the deadline, or because the link was lost.
// Shared between its Server and the calls in flight. Thread: home shard, except forward() of an
// HTTP link, which runs on the caller's shard.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "config/config.hpp"
#include "mcp/asking.hpp"
#include "mcp/probe.hpp"
#include "net/tls.hpp"
#include "rpc/message.hpp"
#include "runtime/cancel.hpp"
#include "runtime/task.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream {

class Listener;

// Whether a request that mcpx gives up on is announced to the server as cancelled. `initialize`
// never is (requirement cancellation-client-must-not-cancel-initialize), nor is a probe that the
// server may not even know.
enum class OnGiveUp : std::uint8_t { cancel, forget };

// A response, result or error; or why there is none.
using Reply = Result<rpc::Message>;

// What a link tells its server, on the home shard.
struct LinkEvents {
  // As it was announced: resources stand for their templates too, which have no announcement.
  std::function<void(mcp::ListKind)> list_changed;
  std::function<void(const Error&)> lost;  // once; every pending request was answered before
  // The server asked something while it had calls, and a shared stdio session cannot say for which.
  std::function<void()> asked;
  std::function<void(const std::string&)> remark;  // worth a line in the server's status
  std::function<void()> covered;  // Link::covers() says something else now; may be empty
  // A resource, or one below it, that watch() was called for; may be empty, as may the next.
  std::function<void(const std::string& uri)> updated;
  // The raw params of notifications/elicitation/complete; may be empty.
  std::function<void(const std::string& params)> completed;
  std::function<void()> missed;  // what was said of watched resources for a while is lost
  // A notification of an extension that belongs to no call, as extension_message() has it; the
  // client of the session `told` has got it already.
  std::function<void(const std::string& json, const std::string& told)> extension;
};

// One call handed to a link.
struct Forward {
  const call::Call& call;
  TimePoint deadline;                       // each progress notification moves it on
  Milliseconds timeout;                     // to this long from then,
  TimePoint latest;                         // never past this
  runtime::CancelSource* cancel;            // on the link's shard; may be null
  std::shared_ptr<const Catalogue> offers;  // what the server listed last; may be null
  // The number of the last progress that the caller was told of, over all attempts; may be null.
  std::string* told = nullptr;
};

enum class Transport : std::uint8_t { stdio, http, event_stream };  // the last: HTTP+SSE

// The answer to one request of the handshake. The status says more about a server's era than the
// error that becomes of it; 0 where none came.
struct HandshakeReply {
  explicit HandshakeReply(Reply reply_in, unsigned http_status_in = 0)
      : reply(std::move(reply_in)), http_status(http_status_in) {}
  Reply reply;
  unsigned http_status;
};

class Link {
 public:
  virtual ~Link() = default;

  virtual Transport transport() const { return Transport::stdio; }
  // Like request(), of which nothing is announced to the server when it is given up.
  virtual Task<HandshakeReply> ask(std::string_view method, std::string params, TimePoint deadline);
  // Goes over to HTTP+SSE (2024-11-05 basic/transports): opens the stream and waits for its
  // endpoint event.
  virtual Task<Result<void>> open_event_stream(TimePoint deadline);
  virtual Task<Reply> request(std::string_view method, std::string params, TimePoint deadline,
                              OnGiveUp on_give_up) = 0;
  // `params`: a raw object, or empty for none.
  virtual Task<Result<void>> notify(std::string_view method, std::string params) = 0;
  virtual Task<Reply> forward(const Forward& forward) = 0;
  // Tells the link what the handshake found, before the first forward().
  virtual void established(const mcp::ServerFacts& facts) = 0;
  virtual const mcp::ServerFacts& facts() const = 0;
  // Whether a caller that may be asked this can be served: a legacy session declares once and for
  // all what may be asked of its client, a modern server is told with every request.
  bool serves(mcp::Askable askable) const {
    return declared_ == askable || facts().era() == mcp::Era::modern;
  }
  void declare(mcp::Askable askable) { declared_ = askable; }  // before the handshake
  mcp::Askable declared() const { return declared_; }
  virtual std::string_view client_info() const = 0;  // raw Implementation object of mcpx
  virtual bool alive() const = 0;
  // True while the server has agreed to announce changes of that list. Home shard.
  virtual bool covers(mcp::ListKind) const { return false; }
  // Has the server tell of updates of that resource until unwatch() (LinkEvents::updated), as its
  // era has it: resources/subscribe, or subscriptions/listen. Answers with the server's own error,
  // or upstream.not_subscribed, when it does not. Home shard; one at a time for each URI.
  Task<Reply> watch(std::string uri, TimePoint deadline);
  Task<void> unwatch(std::string uri);
  virtual std::size_t children() const = 0;
  virtual std::vector<std::string> stderr_tail() const = 0;
  // Makes what is in flight end now and takes nothing more; stop() follows.
  virtual void hurry() = 0;
  // Ends everything and joins. Awaited once.
  virtual Task<void> stop(Milliseconds grace) = 0;

 protected:
  Link() = default;
  virtual Listener* listener() { return nullptr; }  // of a modern server

 private:
  mcp::Askable declared_ = 0;
};

// What a link is made of, besides its configuration.
struct LinkContext {
  runtime::Shard& home;
  const config::Server& config;
  const Environment& environment;
  LinkEvents events;
  std::shared_ptr<const net::TlsContext> tls = nullptr;  // for https
  // All its calls are of one client, so whatever the server asks is for that one.
  bool one_caller = false;
};

// Starts the process; the handshake is up to the caller.
Task<Result<std::shared_ptr<Link>>> open_stdio_link(LinkContext context);
Result<std::shared_ptr<Link>> open_http_link(LinkContext context);

// The list whose change a notification announces; nullopt for any other.
std::optional<mcp::ListKind> announced_list(std::string_view method);

// Passes on the parameters of notifications/resources/updated.
void tell_update(const LinkEvents& events, json::Raw params);
inline constexpr std::string_view kResourceUpdated = "notifications/resources/updated";

// The same error without the secrets of the configuration.
Error redacted_error(const Environment& environment, Error error);

// Drives mcp::Handshake over a link.
Task<Result<mcp::ServerFacts>> shake_hands(Link& link, mcp::Handshake::Options options,
                                           Milliseconds probe_timeout, TimePoint deadline);

// Reads the lists named by `kinds` whole, page by page, as far as the server's capabilities go.
// The others are taken from `before` (may be null).
Task<Result<std::shared_ptr<const Catalogue>>> read_catalogue(
    Link& link, const std::vector<mcp::ListKind>& kinds, std::shared_ptr<const Catalogue> before,
    Milliseconds timeout);

}  // namespace mcpx::upstream
