#include "downstream/sse_clients.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/core.hpp"
#include "downstream/fields.hpp"
#include "downstream/post_parts.hpp"
#include "downstream/session_routes.hpp"
#include "downstream/session_stream.hpp"
#include "log/log.hpp"
#include "runtime/hop.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::downstream {
namespace {

constexpr std::string_view kIdParameter = "sessionId=";

// The shard stands before the random part, so that a POST finds its stream.
std::optional<std::size_t> shard_of(std::string_view id) {
  std::size_t index = 0;
  const auto [stop, failure] = std::from_chars(id.data(), id.data() + id.size(), index);
  if (failure != std::errc() || stop == id.data() + id.size() || *stop != '-') return std::nullopt;
  return index;
}

std::string_view id_in(std::string_view target) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return {};
  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with(kIdParameter)) return pair.substr(kIdParameter.size());
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
  }
  return {};
}

Task<Answer> initialize(Core& core, SseClientPtr client, const rpc::Message& message) {
  if (client->session || std::exchange(client->initializing, true)) {
    co_return Answer::error(rpc::kInvalidRequest, "Invalid Request: the session is open already");
  }
  auto described = described_session(message, client->endpoint, client->principal);
  described->kept = false;
  Opened opened = co_await open_session(core, std::move(described));
  client->initializing = false;
  if (opened.session) {
    client->session = opened.session;
    client->use.emplace(*client->session);
    ChangeStreams& streams = core.local(client->events->home()).streams;
    client->tasks.spawn("sse changes", follow(streams, client->session, client->events));
    if (client->closed) co_await core.sessions.end(client->session);
  }
  co_return std::move(opened.answer);
}

Task<Answer> answer_of(Core& core, SseClientPtr client, const rpc::Message& message) {
  const auto method = mcp::parse_method(message.method);
  if (method == mcp::Method::initialize) co_return co_await initialize(core, client, message);
  if (method == mcp::Method::ping) co_return Answer::result("{}");
  if (!client->session) {
    co_return Answer::error(rpc::kInvalidRequest, "Invalid Request: send 'initialize' first");
  }
  const SessionPtr session = client->session;
  co_return co_await answer_in_session(core, message, session, client, nullptr, "sse");
}

// Empty when none is due.
Task<std::string> response_to(Core& core, SseClientPtr client, const rpc::Message& message) {
  std::string text;
  if (message.kind != rpc::Kind::request) {
    if (client->session) note(core, client->session, message);
    co_return text;
  }
  const Answer made = co_await answer_of(core, client, message);
  if (!made.is_silence()) append_response(text, message.id, made);
  co_return text;
}

using MessagePtr = std::shared_ptr<rpc::Message>;

Task<void> serve_message(Core& core, SseClientPtr client, MessagePtr message) {
  std::string text = co_await response_to(core, client, *message);
  if (!text.empty()) client->events->add(std::move(text), EventStream::Kind::response);
}

Task<void> serve_element(Core& core, SseClientPtr client, const rpc::Message& message,
                         std::string& response) {
  response = co_await response_to(core, std::move(client), message);
}

// All at once, and answered together (2025-03-26 basic, "Batching").
Task<void> serve_batch(Core& core, SseClientPtr client, std::vector<MessagePtr> messages) {
  std::vector<std::string> responses(messages.size());
  runtime::TaskGroup serving(client->events->home());
  for (std::size_t i = 0; i < messages.size(); ++i)
    serving.spawn("batch element", serve_element(core, client, *messages[i], responses[i]));
  co_await serving.join();
  std::string out;
  for (const std::string& response : responses) {
    if (response.empty()) continue;
    out += out.empty() ? '[' : ',';
    out += response;
  }
  if (!out.empty()) client->events->add(out + ']', EventStream::Kind::response);
}

enum class Taken { yes, unknown, busy, no_batches };

struct Messages {
  std::vector<MessagePtr> list;
  bool batch = false;
};

Task<Taken> take_there(Core& core, runtime::Shard& shard, std::string id, std::string endpoint,
                       std::string principal, Messages messages) {
  const SseClientPtr client = core.local(shard).sse.find(id);
  if (!client || client->endpoint != endpoint || client->principal != principal) {
    co_return Taken::unknown;
  }
  if (client->busy()) co_return Taken::busy;
  if (messages.batch) {
    const bool defined =
        client->session && mcp::defines(client->session->revision, mcp::Feature::batches);
    if (!defined) co_return Taken::no_batches;
    const bool taken =
        client->tasks.spawn("sse batch", serve_batch(core, client, std::move(messages.list)));
    co_return taken ? Taken::yes : Taken::busy;
  }
  for (const MessagePtr& message : messages.list) {
    if (!client->tasks.spawn("sse message", serve_message(core, client, message))) {
      co_return Taken::busy;
    }
  }
  co_return Taken::yes;
}

Task<Taken> take(Core& core, http::Exchange& exchange, std::string endpoint, Messages messages) {
  std::string id(id_in(exchange.head().target));
  const auto index = shard_of(id);
  const auto home = std::find_if(core.shards.begin(), core.shards.end(), [&](const auto* shard) {
    return index && shard->index() == *index;
  });
  if (home == core.shards.end()) co_return Taken::unknown;
  runtime::Shard& shard = **home;
  std::string principal(exchange.principal());
  const std::function<Task<Taken>()> there = [&core, &shard, id, endpoint, principal, messages] {
    return take_there(core, shard, id, endpoint, principal, messages);
  };
  co_return co_await runtime::run_on<Taken>(shard, there);
}

// One message, or the elements of a batch; on failure why there are none.
boost::system::result<Messages, Refusal> read_messages(Core& core, PaddedBuffer body) {
  const json::Limits limits{core.config().limits.json_depth};
  std::vector<PaddedBuffer> texts;
  Messages messages;
  messages.batch = rpc::is_batch(body.view());
  if (messages.batch) {
    const auto valid = json::validate(body.view(), limits);
    if (valid.has_error()) {
      return Refusal(400, rpc::kParseError, "Parse error: " + valid.error().message);
    }
    auto parts = rpc::split_batch(body);
    if (parts) texts = std::move(*parts);
    if (texts.empty() || texts.size() > SseClient::kMessages / 2) {
      return Refusal(
          400, rpc::kInvalidRequest,
          fmt::format("Invalid Request: a batch has 1 to {} messages", SseClient::kMessages / 2));
    }
  } else {
    texts.push_back(std::move(body));
  }
  for (PaddedBuffer& text : texts) {
    rpc::ParseResult parsed = rpc::parse(std::move(text), limits);
    if (parsed.has_error()) return Refusal(400, parsed.error().code, parsed.error().message);
    messages.list.push_back(std::make_shared<rpc::Message>(std::move(*parsed)));
  }
  return messages;
}

Task<void> refuse_post(http::Exchange& exchange, const Refusal& refusal) {
  co_await send_error(exchange, refusal.status, json::Raw(), refusal.code, refusal.message,
                      refusal.data);
}

Task<void> serve_sse_post(Core& core, http::Exchange& exchange, std::string endpoint) {
  if (!is_json(exchange.head().fields)) {
    const Refusal refusal(415, rpc::kInvalidRequest,
                          "Unsupported Media Type: Content-Type must be application/json");
    co_return co_await refuse_post(exchange, refusal);
  }
  const auto messages = read_messages(core, exchange.take_body());
  if (messages.has_error()) co_return co_await refuse_post(exchange, messages.error());
  const Taken taken = co_await take(core, exchange, std::move(endpoint), *messages);
  if (taken == Taken::yes) co_return co_await send_empty(exchange, 202);
  if (taken == Taken::unknown) {
    const Refusal refusal(404, rpc::kInvalidRequest,
                          "Session not found: its event stream has ended; open a new one");
    co_return co_await refuse_post(exchange, refusal);
  }
  if (taken == Taken::no_batches) {
    const Refusal refusal(400, rpc::kInvalidRequest,
                          "Invalid Request: only sessions of 2025-03-26 may send batches");
    co_return co_await refuse_post(exchange, refusal);
  }
  json::ObjectBuilder data;
  data.string("code", "sse.busy");
  data.string("remedy", "read the event stream, and wait for answers before sending more");
  const Refusal refusal(503, rpc::kInternalError,
                        "too many messages of this client are under way or wait to be read",
                        data.take());
  co_await refuse_post(exchange, refusal);
}

std::string endpoint_event(const std::string& endpoint, const std::string& id) {
  return fmt::format("event: endpoint\ndata: /sse{}{}?{}{}\n\n", endpoint.empty() ? "" : "/",
                     endpoint, kIdParameter, id);
}

Task<void> serve_sse_stream(Core& core, http::Exchange& exchange, std::string endpoint) {
  SseClients& clients = core.local(exchange.shard()).sse;
  const SseClientPtr client =
      clients.open(exchange.shard(), std::move(endpoint), std::string(exchange.principal()));
  Result<void> sent = co_await exchange.begin_stream(kNoFields);
  const std::string first = endpoint_event(client->endpoint, client->id);
  if (sent) sent = co_await exchange.send_framed(first);
  if (sent) {
    const EventStream::ReaderPtr reader = client->events->attach(0);
    co_await write_events(exchange, client->events, reader, kKeepAlive);
  }
  clients.close(*client);
  client->use.reset();
  if (client->session) co_await core.sessions.end(client->session);
  co_await client->tasks.join();
}

}  // namespace

SseClient::SseClient(runtime::Shard& home, std::string id_in, std::string endpoint_in,
                     std::string principal_in)
    : id(std::move(id_in)),
      endpoint(std::move(endpoint_in)),
      principal(std::move(principal_in)),
      events(std::make_shared<EventStream>(home)),
      tasks(home, kMessages) {}

SseClientPtr SseClients::open(runtime::Shard& home, std::string endpoint, std::string principal) {
  std::string id = fmt::format("{}-{}", home.index(), random_id());
  auto client = std::make_shared<SseClient>(home, id, std::move(endpoint), std::move(principal));
  clients_.emplace(std::move(id), client);
  if (shut_down_) client->events->close();
  return client;
}

void SseClients::close(SseClient& client) {
  client.closed = true;
  client.events->abandon();
  clients_.erase(client.id);
}

SseClientPtr SseClients::find(std::string_view id) const {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second;
}

void SseClients::end_session(const Session& session) {
  for (const auto& [id, client] : clients_) {
    if (client->session.get() == &session) client->events->close();
  }
}

void SseClients::shut_down() {
  shut_down_ = true;
  for (const auto& [id, client] : clients_)
    client->events->close();
}

Task<void> serve_sse(Core& core, http::Exchange& exchange, std::string endpoint) {
  const std::string_view method = exchange.head().method;
  if (method == "GET") co_return co_await serve_sse_stream(core, exchange, std::move(endpoint));
  if (method == "POST") co_return co_await serve_sse_post(core, exchange, std::move(endpoint));
  co_await refuse_method(exchange, "GET, POST");
}

}  // namespace mcpx::downstream
