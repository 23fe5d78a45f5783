// A Transport that answers by script and remembers what it was asked, and an output that keeps its
// lines: the bridge's two neighbours, without sockets.
#pragma once

#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connect_bridge.hpp"

namespace mcpx::test {

struct Script {
  Error failure;  // when it has a code: send() fails with it
  unsigned status = 200;
  std::string type = "application/json";
  std::string session;              // Mcp-Session-Id
  std::string body;                 // of JSON
  std::vector<std::string> events;  // of an event stream
  Error end;                        // when it has a code: how the body or stream fails
  bool open = false;                // the stream stays open until closed
};

inline Script json_reply(std::string body) {
  Script out;
  out.body = std::move(body);
  return out;
}
inline Script stream_reply(std::vector<std::string> events) {
  Script out;
  out.type = "text/event-stream";
  out.events = std::move(events);
  return out;
}
inline Script status_reply(unsigned status) {
  Script out;
  out.status = status;
  return out;
}
inline Script failing(std::string code) {
  Script out;
  out.failure = Error(std::move(code), "scripted");
  return out;
}

class ScriptedResponse final : public http::Response {
 public:
  ScriptedResponse(Script script, runtime::CancelSource* cancel) : script_(std::move(script)) {
    head_.status = script_.status;
    head_.fields.add("Content-Type", script_.type);
    if (!script_.session.empty()) head_.fields.add("Mcp-Session-Id", script_.session);
    if (cancel) {
      subscription_ = cancel->subscribe([this](const std::string& /*reason*/) { close(); });
    }
  }
  const http1::ResponseHead& head() const override { return head_; }
  std::optional<PaddedBuffer> body_at_hand() override { return std::nullopt; }
  Task<Result<PaddedBuffer>> body() override {
    if (!script_.end.code.empty()) co_return script_.end;
    co_return PaddedBuffer(script_.body);
  }
  Task<Result<std::optional<http1::SseEvent>>> next_event(TimePoint deadline) override;
  void close() override { closed_.open(); }
  void forget_cancel() override { subscription_ = runtime::CancelSource::Subscription(); }

 private:
  Script script_;
  http1::ResponseHead head_;
  std::size_t next_ = 0;
  runtime::Latch closed_;
  runtime::CancelSource::Subscription subscription_;
};

inline Task<Result<std::optional<http1::SseEvent>>> ScriptedResponse::next_event(
    TimePoint /*deadline*/) {
  if (next_ < script_.events.size()) {
    http1::SseEvent event;
    event.data = script_.events[next_++];
    co_return std::optional<http1::SseEvent>(event);
  }
  if (script_.open) {
    co_await closed_.wait();
    co_return Error("http.closed", "closed");
  }
  if (!script_.end.code.empty()) co_return script_.end;
  co_return std::optional<http1::SseEvent>();
}

class ScriptedTransport final : public cli::Transport {
 public:
  struct Sent {
    std::string method, target, body;
    std::map<std::string, std::string> headers;
  };

  // Answers POSTs in order; GET and DELETE have their own scripts.
  std::deque<Script> posts;
  Script get = status_reply(405);
  std::vector<Sent> sent;

  Task<Result<std::unique_ptr<http::Response>>> send(const http::Request& request) override {
    Sent one;
    one.method = request.method;
    one.target = request.target;
    for (const std::string_view part : request.body)
      one.body += part;
    for (const auto& [name, value] : request.fields) {
      one.headers[std::string(name)] = std::string(value);
    }
    sent.push_back(one);
    Script script = status_reply(202);
    if (one.method == "GET") script = get;
    if (one.method == "POST" && !posts.empty()) {
      script = posts.front();
      posts.pop_front();
    }
    if (!script.failure.code.empty()) co_return script.failure;
    co_return std::unique_ptr<http::Response>(
        std::make_unique<ScriptedResponse>(std::move(script), request.cancel));
  }

  std::size_t count(const std::string& method) const {
    std::size_t out = 0;
    for (const Sent& one : sent)
      out += one.method == method ? 1u : 0u;
    return out;
  }
};

class Lines final : public cli::LineOutput {
 public:
  std::vector<std::string> all;
  void write_line(std::string_view line) override { all.emplace_back(line); }
};

// Pauses are short, waits long: a machine that is slow must not end one.
inline cli::BridgeOptions quick_options() {
  cli::BridgeOptions out;
  out.wait = Milliseconds{20'000};
  out.drain = Milliseconds{20'000};
  out.first_pause = Milliseconds{1};
  out.longest_pause = Milliseconds{5};
  out.url = "http://daemon";
  return out;
}

inline rpc::Line line_of(const std::string& text) {
  return PaddedBuffer(text);
}

}  // namespace mcpx::test
