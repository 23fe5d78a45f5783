#include "upstream/server.hpp"

#include <fmt/format.h>

#include <utility>

#include "mcp/error_codes.hpp"
#include "mcp/extensions.hpp"
#include "mcp/spelling.hpp"
#include "runtime/hop.hpp"
#include "upstream/lifecycle.hpp"

namespace mcpx::upstream {

struct Server::Impl : Lifecycle {
  using Lifecycle::Lifecycle;
};

namespace {

Task<Result<void>> refresh_body(Lifecycle& lifecycle) {
  Result<void> done = co_await lifecycle.refresh();
  co_return done;
}

Task<Status> status_body(Lifecycle& lifecycle) {
  co_return lifecycle.status();
}

// Counts a call for as long as it is in flight.
class InFlight {
 public:
  explicit InFlight(std::atomic<std::size_t>& count) : count_(count), now_(++count) {}
  ~InFlight() { --count_; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  std::size_t now() const { return now_; }

 private:
  std::atomic<std::size_t>& count_;
  std::size_t now_;
};

// Of a result of a modern server; everything else is what it is. A type that nobody has defined
// must not be taken for a result, and least of all for a complete one (2026-07-28 basic/index,
// "Result Types").
mcp::ResultType type_of(const Answered& answered) {
  if (!answered.reply || answered.reply->kind != rpc::Kind::result)
    return mcp::ResultType::complete;
  if (mcp::era_of(answered.from) == mcp::Era::legacy) return mcp::ResultType::complete;
  return mcp::result_type_of(answered.reply->result);
}

// An extension may define more of them. On a pass-through endpoint the caller knows which there
// are.
bool has_extensions(const call::Call& call, const Lifecycle& lifecycle) {
  if (!call.caller.passes_through) return false;
  const auto offers = lifecycle.offers();
  return offers && mcp::declares_others(offers->facts.capabilities);
}

Error unknown_type(const std::string& server) {
  return Error("upstream.bad_frame",
               fmt::format("server {} answered with a resultType that mcpx does not know", server),
               "update mcpx, or report this to the server's author");
}

// A server makes a task only of a call whose client takes one (SEP-2663, "Capability
// Negotiation"); whoever does not would take it for the result.
bool takes_tasks(const call::Caller& caller) {
  return mcp::extension_settings(caller.client_capabilities, mcp::kTasks).has_value() ||
         json::find(caller.extensions, mcp::kTasks).has_value();
}

Error unwanted_task(const std::string& server) {
  return Error("upstream.bad_frame",
               fmt::format("server {} made a task of a call whose client takes none", server),
               "report this to the server's author");
}

// What a caller gets for the reply to its call, or for the lack of one.
call::Outcome outcome_of(Answered answered, const std::string& server) {
  Reply& reply = answered.reply;
  if (!reply) {
    const bool by_caller = reply.error().code == "request.cancelled";
    const int code = by_caller ? mcp::kRequestCancelled : mcp::kUpstreamFailure;
    return call::Outcome::of_failure(code, reply.error(), server);
  }
  call::Outcome outcome;
  outcome.from = answered.from;
  outcome.result = reply->result;
  outcome.error = reply->error;
  outcome.text = std::move(reply->text);
  return outcome;
}

}  // namespace

std::string_view text(State state) {
  switch (state) {
    case State::disabled:
      return "disabled";
    case State::idle:
      return "idle";
    case State::starting:
      return "starting";
    case State::ready:
      return "ready";
    case State::failed:
      return "failed";
    case State::stopped:
      return "stopped";
  }
  return "unknown";
}

Server::Server(runtime::Shard& home, const config::Server& config, const Environment& environment)
    : impl_(std::make_shared<Impl>(home, config, environment)) {}
Server::~Server() = default;

const std::string& Server::name() const {
  return impl_->config.name;
}
const config::Server& Server::config() const {
  return impl_->config;
}
runtime::Shard& Server::home() const {
  return impl_->home;
}
std::size_t Server::in_flight() const {
  return impl_->in_flight;
}
Rate& Server::question_rate() const {
  return impl_->question_rate;
}
void Server::start() {
  impl_->start();
}
std::shared_ptr<const Catalogue> Server::catalogue() const {
  return impl_->catalogue;
}

void Server::on_catalogue(std::function<void(mcp::ListKind, bool)> callback) {
  impl_->on_catalogue = std::move(callback);
}

void Server::on_state(std::function<void(State)> callback) {
  Impl* impl = impl_.get();
  impl->on_state = [impl, told = std::move(callback)] { told(impl->status().state); };
}

Task<call::Outcome> Server::call(const call::Call& call) {
  Impl& impl = *impl_;
  const InFlight in_flight(impl.in_flight);
  if (in_flight.now() > impl.environment.limits.calls_per_server) {
    const Error error("upstream.overloaded",
                      fmt::format("server {} has {} calls in flight already", impl.config.name,
                                  in_flight.now() - 1),
                      "wait, or raise limits.calls_per_server");
    co_return call::Outcome::of_failure(mcp::kUpstreamFailure, error, impl.config.name);
  }
  Answered answered = co_await impl.forward(call);
  const mcp::ResultType type = type_of(answered);
  if (type == mcp::ResultType::unknown && !has_extensions(call, impl)) {
    answered.reply = unknown_type(impl.config.name);
  } else if (type == mcp::ResultType::task && !takes_tasks(call.caller)) {
    answered.reply = unwanted_task(impl.config.name);
  }
  call::Outcome outcome = outcome_of(std::move(answered), impl.config.name);
  outcome.needs_input = type == mcp::ResultType::input_required;
  outcome.is_task = outcome.ok() && type == mcp::ResultType::task;
  co_return outcome;
}

void Server::end_session(const std::string& session) {
  impl_->home.post([impl = impl_, owner = session_owner(session)] { impl->end_session(owner); });
}

void Server::roots_changed(const std::string& session) {
  impl_->home.post([impl = impl_, owner = session_owner(session)] { impl->roots_changed(owner); });
}

void Server::pass_on(ClientNotice notice) {
  impl_->home.post(
      [impl = impl_, notice = std::move(notice)]() mutable { impl->pass_on(std::move(notice)); });
}

void Server::expect_completion(std::string elicitation_id, std::shared_ptr<call::Completion> told) {
  impl_->home.post([impl = impl_, id = std::move(elicitation_id), told = std::move(told)] {
    impl->expect_completion(id, told);
  });
}

Task<Result<void>> Server::refresh() {
  Impl& impl = *impl_;
  const std::function<Task<Result<void>>()> at_home = [&impl] { return refresh_body(impl); };
  Result<void> done = co_await runtime::run_on<Result<void>>(impl.home, at_home);
  co_return done;
}

bool Server::stale(mcp::ListKind kind, TimePoint now) const {
  return impl_->stale(kind, now);
}

bool Server::announces(mcp::ListKind kind) const {
  return impl_->announced(kind);
}

Task<bool> Server::renew(mcp::ListKind kind, TimePoint deadline) {
  Impl& impl = *impl_;
  const std::function<Task<bool>()> at_home = [&impl, kind, deadline] {
    return impl.renew(kind, deadline);
  };
  co_return co_await runtime::run_on<bool>(impl.home, at_home);
}

std::optional<mcp::Era> Server::era() const {
  return impl_->era();
}

Task<Status> Server::status() {
  Impl& impl = *impl_;
  const std::function<Task<Status>()> at_home = [&impl] { return status_body(impl); };
  Status status = co_await runtime::run_on<Status>(impl.home, at_home);
  co_return status;
}

Watcher Server::watcher_of(const call::Caller& caller) const {
  return impl_->watcher_of(caller);
}

Task<call::Outcome> Server::watch(Watcher watcher, std::string uri, TimePoint deadline) {
  Impl& impl = *impl_;
  const std::function<Task<call::Outcome>()> at_home = [&impl, &watcher, &uri, deadline] {
    return impl.watch(watcher, uri, deadline);
  };
  co_return co_await runtime::run_on<call::Outcome>(impl.home, at_home);
}

void Server::unwatch(const Watcher& watcher, const std::string& uri) {
  impl_->home.post([impl = impl_, owner = watcher.owner, uri] { impl->unwatch(owner, uri); });
}

void Server::note_missed(const Watcher& watcher, const std::string& uri) {
  impl_->home.post([impl = impl_, owner = watcher.owner, uri] { impl->note_missed(owner, uri); });
}

void Server::on_updated(std::function<void(std::vector<ResourceUpdate>)> callback) {
  impl_->on_updated = std::move(callback);
}

void Server::on_extension(std::function<void(ExtensionNotice)> callback) {
  impl_->on_extension = std::move(callback);
}

Task<void> Server::stop(TimePoint deadline) {
  return impl_->stop(deadline);
}

std::shared_ptr<Server> make_server(runtime::Shard& home, const config::Server& config,
                                    const Environment& environment) {
  const auto end_at_home = [&home](Server* server) { home.post([server] { delete server; }); };
  return std::shared_ptr<Server>(new Server(home, config, environment), end_at_home);
}

}  // namespace mcpx::upstream
