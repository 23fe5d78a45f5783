// Server: one configured upstream server, whatever its transport: its era, its instances, its
// catalogue, its health.
//
// Every call goes through call(). A server starts when asked to, or on the first call; one start at
// a time (single flight). Stdio instances live on the server's home shard; HTTP connections on the
// caller's. A failure of one server never reaches another: nothing here is shared between servers.
// Thread: home shard, except where a member says any.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rate.hpp"
#include "base/redact.hpp"
#include "base/result.hpp"
#include "call/call.hpp"
#include "config/config.hpp"
#include "mcp/probe.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::store {
class Store;
}

namespace mcpx::upstream {

enum class State : std::uint8_t {
  disabled,  // `enabled: false`
  idle,      // nothing runs; a call wakes it
  starting,  // spawning, shaking hands or reading the first lists
  ready,     // its lists were read
  failed,    // the last start failed; back-off until the next
  stopped,   // the daemon is going down
};
std::string_view text(State state);

// What /v1/servers and `mcpx servers` show. A copy; any thread once made.
struct Status {
  std::string name;
  State state = State::idle;
  std::string transport;  // "stdio" or "http"
  std::optional<mcp::Revision> revision;
  std::string server_info;    // raw object, or empty
  std::size_t children = 0;   // processes of ours that run for it
  std::size_t instances = 0;  // open sessions with it, the first one included
  bool breaker_open = false;
  bool from_store = false;  // what is listed is what an earlier daemon read
  std::size_t in_flight = 0;
  std::size_t starts = 0, failures = 0;
  std::size_t tools = 0, prompts = 0, resources = 0, resource_templates = 0;
  std::optional<Error> error;  // of the last failure, until the next success
  std::vector<std::string> stderr_tail;
  std::vector<std::string> remarks;
  std::int64_t retry_in_ms = 0;  // while failed
};

class StartGate;

// News of a resource: one that is watched was updated, or (`uri`) another below it.
struct ResourceUpdate {
  ResourceUpdate(std::string owner_in, std::string watched_in, std::string uri_in)
      : owner(std::move(owner_in)), watched(std::move(watched_in)), uri(std::move(uri_in)) {}
  std::string owner;  // whose watch it is, see Watcher
  std::string watched, uri;
};

// What a server said in terms of an extension, to nobody in particular.
struct ExtensionNotice {
  ExtensionNotice(std::string owner_in, std::string json_in, std::string told_in)
      : owner(std::move(owner_in)), json(std::move(json_in)), told(std::move(told_in)) {}
  std::string owner;  // whose instance said it, see session_owner(); empty: everybody's
  std::string json;   // the whole notification
  std::string told;   // the session whose client has got it already; empty: none
};
// What a client says in terms of an extension of the server, with what tells whose instance hears
// it (see call::Caller).
struct ClientNotice {
  std::string method;
  std::string params;  // raw, or empty
  mcp::Revision revision = mcp::kLatestLegacy;
  std::string session, principal, extensions;
  mcp::Askable askable = 0;
};
// The owner of the instance of a legacy session.
std::string session_owner(std::string_view session);

// Whose watches a caller's are: with `scope: session` those of its own instance, through which as
// much may be asked as by its calls; without an owner everybody shares them.
struct Watcher {
  Watcher() = default;
  Watcher(std::string owner_in, mcp::Askable askable_in)
      : owner(std::move(owner_in)), askable(askable_in) {}
  std::string owner;
  mcp::Askable askable = 0;
};

struct Environment {        // what every server is given; outlives it
  std::string supervisor;   // path of mcpx-supervise
  std::string client_info;  // raw Implementation object: mcpx itself
  std::shared_ptr<const Redactor> redactor;
  std::vector<runtime::Shard*> shards;
  std::vector<std::string> path_extra;  // appended to every child's PATH
  config::Limits limits;
  std::size_t open_files = 0;     // soft limit of each child, 0: that of the daemon
  store::Store* store = nullptr;  // what is remembered across restarts; may be null
  StartGate* starts = nullptr;    // may be null: then nothing limits them
  // Asked what cannot be asked of any call's caller, on whatever shard; may be null. It outlives
  // the servers.
  std::shared_ptr<call::Asker> nobody;
  mcp::Askable nobody_askable = 0;  // what it may be asked
};

class Server {
 public:
  // Both are copied.
  Server(runtime::Shard& home, const config::Server& config, const Environment& environment);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& name() const;       // any
  const config::Server& config() const;  // any
  runtime::Shard& home() const;          // any
  std::size_t in_flight() const;         // calls; any
  Rate& question_rate() const;           // of its questions that are passed on; any

  // Forwards one call and answers it exactly once: by the upstream, at the deadline, when the
  // caller cancels, or when the server fails. Any shard.
  Task<call::Outcome> call(const call::Call& call);

  // The session is over: with `scope: session` its instance ends. Any shard.
  void end_session(const std::string& session);

  // The roots of a session's client changed: with `scope: session` its instance is told. Any shard.
  void roots_changed(const std::string& session);
  // Passes a client's notification on, starting the server if need be; what cannot be delivered
  // within start_timeout, or comes while too many wait, is dropped. Any shard.
  void pass_on(ClientNotice notice);
  // `told` hears of it when the server says that this elicitation is complete; of the last few
  // hundred that were expected. Any shard.
  void expect_completion(std::string elicitation_id, std::shared_ptr<call::Completion> told);

  // Starts the server in the background if it is not running. Home shard.
  void start();
  // Reads the lists again (starting the server first if need be). Any shard.
  Task<Result<void>> refresh();
  // True if that list is stale: its server would have it asked for again before it is shown. Any
  // shard; one comparison.
  bool stale(mcp::ListKind kind, TimePoint now) const;
  // True while the server has agreed to say when that list changes, so that what is known of it is
  // as fresh as it gets. Any shard.
  bool announces(mcp::ListKind kind) const;
  // Has a stale list read again, together with whoever else asks; false when it was not read by the
  // deadline, or the server is not up. Any shard.
  Task<bool> renew(mcp::ListKind kind, TimePoint deadline);
  // As far as it is known. Any shard.
  std::optional<mcp::Era> era() const;
  // Any shard.
  Task<Status> status();
  // The last good catalogue; null until the first. Home shard.
  std::shared_ptr<const Catalogue> catalogue() const;
  // Called on the home shard whenever catalogue() changed (not when a re-list gave the same bytes),
  // and with `false` when the upstream announced a change that turned out to be none.
  void on_catalogue(std::function<void(mcp::ListKind kind, bool changed)> callback);

  Watcher watcher_of(const call::Caller& caller) const;  // any shard
  // Has the server tell of updates of that resource, on whichever link it has, until as many
  // unwatch(): an error, the server's own if it has one, when it does not; then nothing is held. By
  // the deadline, or after call_timeout (kNever). Any shard.
  Task<call::Outcome> watch(Watcher watcher, std::string uri, TimePoint deadline = kNever);
  void unwatch(const Watcher& watcher, const std::string& uri);  // any shard
  // Tells those who watch it that something may have been missed. Any shard.
  void note_missed(const Watcher& watcher, const std::string& uri);
  // Called on the home shard with what the server said of watched resources, and for all of them
  // when something may have been missed.
  void on_updated(std::function<void(std::vector<ResourceUpdate>)> callback);

  // Called on the home shard with what the server says in terms of its extensions.
  void on_extension(std::function<void(ExtensionNotice)> callback);

  // Called on the home shard when the state, or the last error, changed.
  void on_state(std::function<void(State)> callback);

  // Answers what is in flight within the deadline, ends children, joins its tasks. Home shard; to
  // be awaited once before destruction.
  Task<void> stop(TimePoint deadline);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// A server for many owners: whoever lets go of it last, on whatever shard, it is destroyed on its
// own. Any thread.
std::shared_ptr<Server> make_server(runtime::Shard& home, const config::Server& config,
                                    const Environment& environment);

}  // namespace mcpx::upstream
