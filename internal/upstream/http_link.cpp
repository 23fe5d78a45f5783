#include "upstream/http_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "mcp/header_codec.hpp"
#include "runtime/hop.hpp"
#include "upstream/hop.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

constexpr Milliseconds kGoodbye{1'000};
constexpr std::string_view kAccept = "application/json, text/event-stream";

bool starts_with_type(std::string_view content_type, std::string_view type) {
  return content_type.size() >= type.size() &&
         http1::equals_ignoring_case(content_type.substr(0, type.size()), type);
}

}  // namespace

// One POST and what it is about.
struct HttpLink::Post {
  std::string_view method;
  std::string id;        // raw token; empty for a notification
  std::string name;      // for Mcp-Name of a modern request; empty: none
  std::string envelope;  // of the body, up to its params; empty: the body stands alone
  std::string body;
  TimePoint deadline = kNever;
  const call::Call* call = nullptr;
  runtime::CancelSource* cancel = nullptr;
};

Result<std::shared_ptr<Link>> open_http_link(LinkContext context) {
  Result<http::Url> url = http::parse_url(context.config.url);
  if (!url) return url.error();
  std::shared_ptr<Link> link = std::make_shared<HttpLink>(std::move(context), std::move(*url));
  return link;
}

HttpLink::HttpLink(LinkContext context, http::Url url)
    : context_(std::move(context)),
      url_(std::move(url)),
      version_(mcp::text(mcp::kLatestModern)),
      clients_(context_.environment.shards.size()) {}

http::Client& HttpLink::client() {
  runtime::Shard& shard = runtime::Shard::current();
  auto& slot = clients_[shard.index()];
  if (!slot) {
    http::Client::Options options;
    options.limits.body_bytes = context_.environment.limits.message_bytes;
    slot = std::make_unique<http::Client>(shard, url_.origin, options);
  }
  return *slot;
}

void HttpLink::add_fields(std::vector<http1::Field>& fields, const Post& post) const {
  fields.emplace_back("Content-Type", "application/json");
  fields.emplace_back("Accept", kAccept);
  if (post.method != "initialize") fields.emplace_back("MCP-Protocol-Version", version_);
  if (!session_id_.empty()) fields.emplace_back("Mcp-Session-Id", session_id_);
  const auto revision = mcp::parse_revision(version_);
  if (post.method != "initialize" && revision && mcp::era_of(*revision) == mcp::Era::modern) {
    fields.emplace_back("Mcp-Method", post.method);
    if (!post.name.empty()) fields.emplace_back("Mcp-Name", post.name);
  }
  for (const auto& [name, value] : context_.config.headers)
    fields.emplace_back(name, value);
}

Task<Result<rpc::Message>> HttpLink::exchange(Post& post) {
  std::vector<http1::Field> fields;
  fields.reserve(8 + context_.config.headers.size());
  add_fields(fields, post);
  const std::string_view whole[] = {post.body};
  const std::string_view enveloped[] = {post.envelope, post.body, "}"};
  http::Request request;
  request.target = url_.target;
  request.fields = fields;
  request.body = whole;
  if (!post.envelope.empty()) request.body = enveloped;
  request.deadline = post.deadline;
  request.cancel = post.cancel;
  Result<std::unique_ptr<http::Response>> sent = co_await client().send(request);
  if (!sent) {
    co_return translated(sent.error(), "upstream.unreachable");
  }
  http::Response& response = **sent;
  const unsigned status = response.head().status;
  if (status == 404 && !session_id_.empty()) co_return expired(status);
  const auto type = response.head().fields.find("Content-Type").value_or("");
  if (status == 200 && starts_with_type(type, "text/event-stream")) {
    Result<rpc::Message> answer = co_await read_stream(response, post);
    if (answer && post.method == "initialize") note_session(response, *answer);
    co_return answer;
  }
  Result<rpc::Message> answer = co_await read_whole(response, post);
  if (answer && post.method == "initialize") note_session(response, *answer);
  co_return answer;
}

// From the answer to `initialize` on, requests carry the session and the version it settled on.
void HttpLink::note_session(const http::Response& response, const rpc::Message& answer) {
  if (const auto id = response.head().fields.find("Mcp-Session-Id")) session_id_ = *id;
  if (auto version = json::find_string(answer.result, "protocolVersion")) {
    version_ = std::move(*version);
  }
}

void HttpLink::established(const mcp::ServerFacts& facts) {
  facts_ = facts;
  version_ = mcp::text(facts.revision);
  plain_meta_ = mcp::modern_meta(facts.revision, client_info(), "{}");
}

// An error of the HTTP client as one of this server's.
Error HttpLink::translated(const Error& error, std::string_view otherwise) const {
  std::string code(otherwise);
  if (error.code == "http.cancelled") code = "request.cancelled";
  if (error.code == "http.timeout") code = "upstream.timeout";
  return redacted_error(context_.environment,
                        Error(std::move(code),
                              fmt::format("server {} at {}: {}", context_.config.name,
                                          context_.config.url, error.message),
                              error.remedy));
}

Error HttpLink::expired(unsigned status) {
  lost_ = true;
  return Error(
      "upstream.session_expired",
      fmt::format("server {} no longer knows its session (HTTP {})", context_.config.name, status));
}

Task<Result<rpc::Message>> HttpLink::read_whole(http::Response& response, const Post& post) {
  const unsigned status = response.head().status;
  Result<PaddedBuffer> body = co_await response.body();
  if (!body) {
    co_return translated(body.error(), "upstream.bad_frame");
  }
  if (post.id.empty() && status / 100 == 2) co_return rpc::Message();  // a notification, accepted
  const json::Limits limits{context_.environment.limits.json_depth};
  auto parsed = rpc::parse(std::move(*body), limits);
  const bool answers = parsed && (parsed->kind == rpc::Kind::error ||
                                  (parsed->kind == rpc::Kind::result && parsed->id == post.id));
  if (answers) co_return std::move(*parsed);
  if (status != 200) {
    co_return Error(
        "upstream.http_status",
        fmt::format("server {} answered HTTP {} to {}", context_.config.name, status, post.method),
        status == 401 || status == 403 ? "check the Authorization header configured for this server"
                                       : "check the url configured for this server");
  }
  co_return Error(
      "upstream.bad_frame",
      fmt::format("server {} answered {} with something that is not its JSON-RPC response",
                  context_.config.name, post.method),
      "report this to the server's author");
}

Task<Result<rpc::Message>> HttpLink::read_stream(http::Response& response, Post& post) {
  const json::Limits limits{context_.environment.limits.json_depth};
  while (true) {
    Result<std::optional<http1::SseEvent>> event = co_await response.next_event(post.deadline);
    if (!event || !*event) {
      co_return Error(event ? "upstream.bad_frame" : "upstream.unreachable",
                      fmt::format("server {} ended its event stream before the answer to {}",
                                  context_.config.name, post.method),
                      event ? "" : event.error().message);
    }
    if ((*event)->data.empty()) continue;  // priming events, retry hints
    auto parsed = rpc::parse(PaddedBuffer((*event)->data), limits);
    if (!parsed) {
      log::warning("server {}: an event that is not JSON-RPC was skipped: {}", context_.config.name,
                   parsed.error().message);
      continue;
    }
    const bool response_kind =
        parsed->kind == rpc::Kind::result || parsed->kind == rpc::Kind::error;
    if (response_kind && parsed->id == post.id) co_return std::move(*parsed);
    if (parsed->kind == rpc::Kind::notification) relay(*parsed, post);
    if (parsed->kind == rpc::Kind::request) {
      co_await answer_request(*parsed, post.deadline);
    }
  }
}

// mcpx declared no client capabilities, so a server may only ping; a refusal keeps it from waiting.
Task<void> HttpLink::answer_request(const rpc::Message& message, TimePoint deadline) {
  Post post;
  post.method = message.method;
  post.deadline = deadline;
  append_answer(post.body, message, context_.config.roots);
  Result<rpc::Message> sent = co_await exchange(post);
  if (!sent) log::debug("server {}: {}", context_.config.name, sent.error().message);
}

void HttpLink::relay(const rpc::Message& message, const Post& post) {
  if (!post.call || !post.call->caller.sink) return;
  const call::Caller& caller = post.call->caller;
  if (message.method == "notifications/progress" && !caller.progress_token.empty()) {
    caller.sink->notify(progress_for(caller, message.params));
  } else if (message.method == "notifications/message" && wants_log(caller, message.params)) {
    caller.sink->notify(log_message_for(message.params));
  }
}

Task<Result<rpc::Message>> HttpLink::request(std::string_view method, std::string params,
                                             TimePoint deadline, OnGiveUp) {
  Post post;
  post.method = method;
  post.id = std::to_string(++last_id_);
  rpc::append_request(post.body, post.id, method, params);
  post.deadline = deadline;
  co_return co_await exchange(post);
}

Task<Result<void>> HttpLink::notify(std::string_view method) {
  Post post;
  post.method = method;
  rpc::append_notification(post.body, method, {});
  post.deadline = Clock::now() + context_.config.start_timeout;
  Result<rpc::Message> sent = co_await exchange(post);
  if (!sent) co_return sent.error();
  co_return Result<void>();
}

Task<Reply> HttpLink::forward(const Forward& forward) {
  const call::Call& call = forward.call;
  Post post;
  post.method = call.method_name;
  post.id = std::to_string(++last_id_);
  post.deadline = forward.deadline;
  post.call = &call;
  post.cancel = forward.cancel;
  HopContext hop;
  hop.to = facts_.revision;
  hop.client_info = context_.environment.client_info;
  hop.plain_meta = plain_meta_;
  if (call.caller.sink && !call.caller.progress_token.empty()) hop.progress_token = post.id;
  post.body = hop_params(call, hop);
  if (facts_.era() == mcp::Era::modern) {
    const std::string_view member = call.method == mcp::Method::resources_read ? "uri" : "name";
    const auto name = call.target_member == member ? json::decode_string(call.target_value)
                                                   : json::find_string(post.body, member);
    if (name) post.name = mcp::encode_header(*name);
  }
  post.envelope = rpc::request_envelope(post.id, call.method_name);
  co_return co_await exchange(post);
}

Task<bool> HttpLink::close_client_there(runtime::Shard& shard) {
  if (auto& slot = clients_[shard.index()]) slot->close();
  co_return true;
}

Task<void> HttpLink::close_client(runtime::Shard& shard) {
  const std::function<Task<bool>()> there = [this, &shard] { return close_client_there(shard); };
  co_await runtime::run_on<bool>(shard, there);
}

// The client SHOULD end its session (spec 2025-11-25 basic/transports#session-management).
Task<void> HttpLink::end_session() {
  std::vector<http1::Field> fields;
  fields.emplace_back("Mcp-Session-Id", session_id_);
  fields.emplace_back("MCP-Protocol-Version", version_);
  for (const auto& [name, value] : context_.config.headers)
    fields.emplace_back(name, value);
  http::Request request;
  request.method = "DELETE";
  request.target = url_.target;
  request.fields = fields;
  request.deadline = Clock::now() + kGoodbye;
  http::Client goodbye(context_.home, url_.origin, http::Client::Options());  // ours is closed
  Result<std::unique_ptr<http::Response>> sent = co_await goodbye.send(request);
  static_cast<void>(sent);  // a server may refuse (405) or be gone
  goodbye.close();
}

void HttpLink::hurry() {
  if (auto& slot = clients_[context_.home.index()]) slot->close();
}

Task<void> HttpLink::stop(Milliseconds) {
  const bool open = !lost_.exchange(true);
  if (open && !session_id_.empty()) co_await end_session();
  for (runtime::Shard* shard : context_.environment.shards) {
    co_await close_client(*shard);
  }
}

}  // namespace mcpx::upstream
