#include "upstream/http_link.hpp"

#include <fmt/format.h>

#include <utility>

#include "log/log.hpp"
#include "mcp/extensions.hpp"
#include "runtime/hop.hpp"
#include "upstream/hop.hpp"
#include "upstream/http_post.hpp"
#include "upstream/http_reply.hpp"

namespace mcpx::upstream {
namespace {

constexpr Milliseconds kGoodbye{1'000};
constexpr Milliseconds kTick{10};
constexpr Milliseconds kLevelTimeout{2'000};  // for the answer to logging/setLevel
// Answers and notices on their way at once, per shard, besides calls; a server that asks for more
// is not well.
constexpr std::size_t kTasksAtMost = 256;
constexpr std::string_view kAccept = "application/json, text/event-stream";

Result<http::Client::Options> options_for(const LinkContext& context) {
  http::Client::Options options;
  options.limits.body_bytes = context.environment.limits.message_bytes;
  options.tls = context.tls;
  const config::Server& config = context.config;
  if (!config.proxy.empty()) {
    Result<http::Proxy> proxy = http::parse_proxy(config.proxy);
    if (!proxy) return proxy.error();
    options.proxy = std::move(*proxy);
  }
  return options;
}

}  // namespace

Result<std::shared_ptr<Link>> open_http_link(LinkContext context) {
  Result<http::Url> url = http::parse_url(context.config.url);
  if (!url) return url.error();
  const Result<http::Client::Options> options = options_for(context);
  if (!options) return options.error();
  std::shared_ptr<Link> link =
      std::make_shared<HttpLink>(std::move(context), std::move(*url), *options);
  return link;
}

HttpLink::HttpLink(LinkContext context, http::Url url, const http::Client::Options& options)
    : context_(std::move(context)),
      url_(std::move(url)),
      options_(options),
      version_(mcp::text(mcp::kLatestModern)),
      locals_(context_.environment.shards.size()),
      heard_retry_(kRetry),
      listener_(
          context_.home, context_.events,
          [this](std::string params, std::optional<rpc::Number>& id) {
            return hold_listen(std::move(params), id);
          },
          [this](rpc::Number id) { close_listen(id); }),
      pause_(context_.home),
      tasks_(context_.home) {}

Transport HttpLink::transport() const {
  const bool only = context_.config.http_transport == config::HttpTransport::sse_only;
  return only ? Transport::event_stream : Transport::http;
}

// --- What requests carry

void HttpLink::add_session(std::vector<http1::Field>& fields) const {
  if (!version_.empty()) fields.emplace_back("MCP-Protocol-Version", version_);
  if (!session_id_.empty()) fields.emplace_back("Mcp-Session-Id", session_id_);
  for (const auto& [name, value] : context_.config.headers)
    fields.emplace_back(name, value);
}

void HttpLink::add_fields(std::vector<http1::Field>& fields, const Post& post) const {
  fields.emplace_back("Content-Type", "application/json");
  fields.emplace_back("Accept", kAccept);
  if (post.method == "initialize") {  // opens a session, in a version it says in its body
    for (const auto& [name, value] : context_.config.headers)
      fields.emplace_back(name, value);
    return;
  }
  const auto revision = mcp::parse_revision(version_);
  if (revision && mcp::era_of(*revision) == mcp::Era::modern) {
    post.mirrored.append_to(fields, post.method);
  }
  add_session(fields);
}

// Ids are unique in the session, and say which shard waits.
void HttpLink::number(Post& post) {
  const std::size_t index = runtime::Shard::current().index();
  post.number = ++locals_[index].requests * static_cast<rpc::Number>(locals_.size()) +
                static_cast<rpc::Number>(index);
  post.id = std::to_string(post.number);
}

// The header came with 2025-06-18.
void HttpLink::set_version(std::optional<mcp::Revision> revision) {
  const bool has_header = revision && *revision >= mcp::Revision::r2025_06_18;
  version_ = has_header ? mcp::text(*revision) : "";
}

void HttpLink::established(const mcp::ServerFacts& facts) {
  facts_ = facts;
  set_version(facts.revision);
  plain_meta_ = mcp::modern_meta(facts.revision, client_info(), "{}");
  speaks_extensions_ = mcp::declares_others(facts.capabilities);
  logs_ = is_legacy() && json::find(facts.capabilities, "logging").has_value();
  if (!is_legacy()) {
    tasks_.spawn("listen", listener_.run(facts_, std::string(client_info())));
  } else if (endpoint_.empty()) {
    tasks_.spawn("listen", listen());
  }
}

// --- Requests

Task<HandshakeReply> HttpLink::ask(std::string_view method, std::string params,
                                   TimePoint deadline) {
  Post post;
  post.method = method;
  number(post);
  post.deadline = deadline;
  post.resumable = method == "initialize";
  if (const auto claim = json::find(params, "_meta", "io.modelcontextprotocol/protocolVersion")) {
    version_ = json::decode_string(*claim).value_or(version_);
  }
  rpc::append_request(post.body, post.id, method, params);
  Reply reply = co_await carry(post);
  if (reply && reply->kind == rpc::Kind::result && method == "initialize") {
    // notifications/initialized says it already; established() follows.
    const auto answered = json::find_string(reply->result, "protocolVersion").value_or("");
    set_version(mcp::parse_revision(answered));
  }
  co_return HandshakeReply(std::move(reply), post.status);
}

Task<Reply> HttpLink::request(std::string_view method, std::string params, TimePoint deadline,
                              OnGiveUp on_give_up) {
  Post post;
  post.method = method;
  number(post);
  post.deadline = deadline;
  post.resumable = is_legacy();
  rpc::append_request(post.body, post.id, method, params);
  Reply reply = co_await carry(post);
  const bool tells = on_give_up == OnGiveUp::cancel && !reply;
  if (tells && reply.error().code == "upstream.timeout") {
    cancel_on_wire(post, "the deadline passed");
  }
  co_return reply;
}

// A subscription of the Listener; its stream ends with the link, if it is not closed before.
Task<Reply> HttpLink::hold_listen(std::string params, std::optional<rpc::Number>& id) {
  if (lost_) co_return Error("upstream.stopped", "its session is over");
  runtime::CancelSource closed;
  Post post;
  post.method = "subscriptions/listen";
  number(post);
  post.listens = true;
  post.cancel = &closed;
  rpc::append_request(post.body, post.id, post.method, params);
  id = post.number;
  co_return co_await exchange(post);
}

// Closing the stream is how a client ends it (2026-07-28 basic/patterns/subscriptions).
void HttpLink::close_listen(rpc::Number id) {
  for (Post* post = local().first; post; post = post->next) {
    if (post->number == id && post->listens) return post->cancel->cancel("no longer needed");
  }
}

Task<Result<void>> HttpLink::notify(std::string_view method, std::string params) {
  Post post;
  post.method = method;
  rpc::append_notification(post.body, method, params);
  post.deadline = Clock::now() + context_.config.start_timeout;
  Reply sent = co_await exchange(post);
  if (!sent) co_return sent.error();
  co_return Result<void>();
}

namespace {

class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<std::size_t>& count_;
};

}  // namespace

// A legacy server logs by the level of its session. Waited for, because requests on two connections
// may overtake each other; whatever the server makes of it, the call goes on.
Task<void> HttpLink::tell_level(std::string_view level) {
  json::ObjectBuilder params;
  params.string("level", level);
  std::string text = params.take();
  const TimePoint soon = Clock::now() + kLevelTimeout;
  Reply reply = co_await request("logging/setLevel", std::move(text), soon, OnGiveUp::forget);
  if (!reply) log::debug("server {}: {}", context_.config.name, reply.error().message);
}

Task<Reply> HttpLink::forward(const Forward& forward) {
  if (endpoint_.empty() || context_.home.is_current()) return forward_here(forward);
  return forward_to_home(forward);
}

Task<Reply> HttpLink::forward_here(const Forward& forward) {
  const Counted counted(calls_);
  const call::Call& call = forward.call;
  if (logs_ && asked_level_.lower_to(call.caller.log_level)) {
    co_await tell_level(call.caller.log_level);
  }
  Relay relay(forward);
  Post post;
  post.method = call.method_name;
  number(post);
  post.deadline = forward.deadline;
  post.relay = &relay;
  post.cancel = forward.cancel;
  post.resumable = is_legacy();
  HopContext hop;
  hop.to = facts_.revision;
  hop.client_info = context_.environment.client_info;
  hop.plain_meta = plain_meta_;
  hop.progress_token = post.id;
  post.body = hop_params(call, hop);
  if (!is_legacy()) post.mirrored = Mirrored(call, forward.offers.get());
  post.envelope = rpc::request_envelope(post.id, call.method_name);
  Reply reply = co_await carry(post);
  end_questions(post);
  const bool given_up = !reply && reply.error().code == "request.cancelled";
  given_up ? relay.close() : relay.finish();
  if (reply && !is_legacy() && refuses_version(*reply)) co_return version_refused();
  if (given_up) {
    cancel_on_wire(post, forward.cancel ? forward.cancel->reason() : "");
  } else if (!reply && reply.error().code == "upstream.timeout") {
    cancel_on_wire(post, "the deadline passed");
  }
  co_return reply;
}

// --- Shards

HttpLink::Local& HttpLink::local() {
  return locals_[runtime::Shard::current().index()];
}

http::Client& HttpLink::client() {
  Local& here = local();
  if (!here.client) {
    here.client = std::make_unique<http::Client>(runtime::Shard::current(), url_.origin, options_);
    if (here.closed) here.client->close();
  }
  return *here.client;
}

// On this shard, until the link is stopped. False: dropped.
bool HttpLink::spawn(std::string_view name, Task<void> task) {
  Local& here = local();
  if (here.closed) return false;
  if (!here.tasks) {
    const std::size_t limit = context_.environment.limits.calls_per_server + kTasksAtMost;
    here.tasks = std::make_unique<runtime::TaskGroup>(runtime::Shard::current(), limit);
  }
  if (here.tasks->spawn(name, std::move(task))) return true;
  if (!std::exchange(here.warned_dropped, true)) {
    log::warning("server {}: too many messages to it are under way; some are dropped",
                 context_.config.name);
  }
  return false;
}

// stop() visits every shard after the last such post of it, so `this` outlives what is posted.
void HttpLink::on_home(std::function<void()> work) {
  if (context_.home.is_current()) {
    if (!stopping_) work();
    return;
  }
  if (local().closed) return;
  context_.home.post([this, work = std::move(work)] {
    if (!stopping_) work();
  });
}

// --- The end

Task<bool> HttpLink::close_there(runtime::Shard& shard, bool was_lost) {
  Local& there = locals_[shard.index()];
  there.closed = true;
  there.was_lost = was_lost;
  if (there.client) there.client->close();
  for (Post* post = there.first; post; post = post->next)
    post->interrupt();
  if (there.asking) there.asking->end_call(Asking::kNobodys);
  if (there.tasks) co_await there.tasks->join();
  there.tasks.reset();
  co_return true;
}

// The client SHOULD end its session (2025-11-25 basic/transports, "Session Management").
Task<void> HttpLink::end_session() {
  std::vector<http1::Field> fields;
  add_session(fields);
  http::Request request;
  request.method = "DELETE";
  request.target = url_.target;
  request.fields = fields;
  request.deadline = Clock::now() + kGoodbye;
  http::Client goodbye(context_.home, url_.origin, options_);  // ours is closed
  Opened sent = co_await goodbye.send(request);
  static_cast<void>(sent);  // a server may refuse (405) or be gone
  goodbye.close();
}

void HttpLink::hurry() {
  stopping_ = true;
  listener_.stop();
  pause_.cancel();
  if (heard_) heard_->close();
  if (auto& client = locals_[context_.home.index()].client) client->close();
}

// The calls of a session that the server forgot: each gets the server's own word, or its deadline.
// One that the server is still at would otherwise look as if it was never done.
Task<void> HttpLink::let_finish() {
  runtime::Timer tick(context_.home);
  while (calls_.load(std::memory_order_relaxed) > 0 && !stopping_) {
    const bool reached = co_await tick.sleep_for(kTick);
    static_cast<void>(reached);
  }
}

Task<void> HttpLink::stop(Milliseconds) {
  const bool open = !lost_.exchange(true);
  if (!open) co_await let_finish();
  hurry();
  if (open && !session_id_.empty()) co_await end_session();
  for (runtime::Shard* shard : context_.environment.shards) {
    const std::function<Task<bool>()> there = [this, shard, open] {
      return close_there(*shard, !open);
    };
    const bool closed = co_await runtime::run_on<bool>(*shard, there);
    static_cast<void>(closed);
  }
  co_await tasks_.join();
}

}  // namespace mcpx::upstream
