// The legacy session of the bridge: notifications, the stream of the server's own messages, opening
// again after a restart, and the end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "connect_bridge.hpp"
#include "connect_pending.hpp"
#include "json/splice.hpp"

namespace mcpx::cli {
namespace {

// An id no client uses for the bridge's own initialize; its answer never reaches the client.
constexpr std::string_view kOwnId = R"("mcpx-connect-reinitialize")";
constexpr std::string_view kInitialized =
    R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

rpc::Message parsed(std::string_view text) {
  rpc::ParseResult result = rpc::parse(PaddedBuffer(text), json::Limits());
  return result ? std::move(*result) : rpc::Message();
}

bool is_event_stream(const http1::ResponseHead& head) {
  const auto type = head.fields.find("Content-Type");
  return type && type->find("text/event-stream") != std::string_view::npos;
}

}  // namespace

// Notifications and answers to the server's questions: nobody waits for a reply.
Task<void> Bridge::forward(rpc::Message message) {
  const TimePoint until = Clock::now() + options_.wait;
  Milliseconds pause = options_.first_pause;
  runtime::Timer timer(shard_);
  const auto waking = stop_.subscribe([&timer](const std::string& /*reason*/) { timer.cancel(); });
  bool lost = false;
  while (!stop_.cancelled()) {
    const unsigned generation = session_.generation;
    const bool in_session = !modern_version(message) && !session_.id.empty();
    const HeaderList headers = headers_for(message, session_);
    const Reply reply = co_await exchange("POST", headers, message.text.view(), json::Raw(), stop_);
    if (reply.kind == Reply::Kind::ended || reply.kind == Reply::Kind::answer) {
      if (reply.status != 404 || !in_session || lost) co_return;
      lost = true;
      const bool open = co_await reopen(generation);
      if (!open) co_return;
      continue;
    }
    // Once the bytes are out, a second copy would be worse than none.
    if (reply.kind != Reply::Kind::dial_failed || Clock::now() + pause > until) co_return;
    if (options_.unreachable) options_.unreachable();
    co_await timer.sleep_for(pause);
    pause = std::min(pause * 2, options_.longest_pause);
  }
}

// Opens the session again, once for all that found it lost. True if there is a newer one than
// `generation`.
Task<bool> Bridge::reopen(unsigned generation) {
  if (session_.generation != generation) co_return true;
  if (reopening_) {
    const std::shared_ptr<runtime::Latch> latch = reopening_;
    co_await latch->wait();
    co_return session_.generation != generation;
  }
  reopening_ = std::make_shared<runtime::Latch>();
  const bool open = co_await open_again();
  const std::shared_ptr<runtime::Latch> latch = std::exchange(reopening_, nullptr);
  latch->open();
  co_return open;
}

Task<bool> Bridge::open_again() {
  if (initialize_.empty()) co_return false;
  const rpc::Message original = parsed(initialize_);
  const std::string text = json::Splice(original.text.view()).set("id", std::string(kOwnId)).text();
  const rpc::Message message = parsed(text);
  const TimePoint until = Clock::now() + options_.wait;
  Milliseconds pause = options_.first_pause;
  while (!stop_.cancelled()) {
    const HeaderList headers = headers_for(message, Session());
    const Reply reply = co_await exchange("POST", headers, text, kOwnId, stop_);
    if (reply.kind == Reply::Kind::answer && reply.incoming.is_result) {
      const auto result = json::find(reply.incoming.line, "result");
      const std::string version =
          (result ? json::find_string(*result, "protocolVersion") : std::nullopt).value_or("");
      if (version != session_.version) {
        note(fmt::format("the session was opened again with revision {} instead of {}", version,
                         session_.version));
      }
      session_.id = reply.session_id;
      session_.version = version;
      ++session_.generation;
      last_event_id_.clear();
      note("mcpxd forgot the session (it was restarted?); it is open again");
      break;
    }
    const bool away = reply.kind == Reply::Kind::dial_failed || reply.kind == Reply::Kind::broken;
    if (!away || Clock::now() + pause > until) co_return false;
    co_await pause_timer_.sleep_for(pause);
    pause = std::min(pause * 2, options_.longest_pause);
  }
  if (stop_.cancelled()) co_return false;
  const rpc::Message initialized = parsed(kInitialized);
  const HeaderList headers = headers_for(initialized, session_);
  const Reply told = co_await exchange("POST", headers, kInitialized, json::Raw(), stop_);
  co_return told.status != 0;
}

void Bridge::start_listening() {
  if (listening_ || stopping_ || session_.version.empty()) return;
  listening_ = forwards_.spawn("listen", listen());
}

// The stream of what the server sends by itself; opened again whenever it drops.
Task<void> Bridge::listen() {
  Milliseconds pause = options_.first_pause;
  bool wanted = true;
  while (wanted && !stop_.cancelled()) {
    wanted = co_await listen_once(pause);
    if (!wanted || stop_.cancelled()) break;
    co_await listen_timer_.sleep_for(pause);
    pause = std::min(pause * 2, options_.longest_pause);
  }
  listening_ = false;
}

// False when the server has no such stream.
Task<bool> Bridge::listen_once(Milliseconds& pause) {
  const unsigned generation = session_.generation;
  HeaderList headers = headers_for_stream(session_);
  if (!last_event_id_.empty()) headers.emplace_back("Last-Event-ID", last_event_id_);
  std::vector<http1::Field> fields;
  for (const auto& [name, value] : headers) {
    fields.emplace_back(name, value);
  }
  http::Request request;
  request.method = "GET";
  request.target = options_.target;
  request.fields = fields;
  request.deadline = Clock::now() + options_.wait;
  request.cancel = &stop_;
  auto response = co_await transport_.send(request);
  if (!response) co_return true;
  const unsigned status = (*response)->head().status;
  if (status == 404 && !session_.id.empty()) {
    (*response)->close();
    co_return co_await reopen(generation);
  }
  if (status != 200 || !is_event_stream((*response)->head())) {
    // 405: there is none (spec, listening for messages from the server). 5xx may pass.
    co_return status >= 500;
  }
  pause = options_.first_pause;
  stream_ = response->get();
  while (true) {
    const auto event = co_await (*response)->next_event(kNever);
    if (!event || !*event) break;
    if ((*event)->id) last_event_id_ = *(*event)->id;
    if ((*event)->data.empty()) continue;
    const Incoming incoming = read_incoming((*event)->data, {});
    if (incoming.kind == Incoming::Kind::other_message) output_.write_line(incoming.line);
  }
  stream_ = nullptr;
  co_return true;
}

Task<void> Bridge::say_farewell() {
  if (session_.id.empty()) co_return;
  const HeaderList headers = headers_for_stream(session_);
  std::vector<http1::Field> fields;
  for (const auto& [name, value] : headers) {
    fields.emplace_back(name, value);
  }
  http::Request request;
  request.method = "DELETE";
  request.target = options_.target;
  request.fields = fields;
  request.deadline = Clock::now() + options_.farewell;
  auto response = co_await transport_.send(request);
  if (response) (*response)->close();
}

}  // namespace mcpx::cli
