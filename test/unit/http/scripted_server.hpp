// A server that answers from a script, whatever it is asked, and how a test asks. For tests only.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/client.hpp"
#include "unit/http/loopback.hpp"

namespace mcpx::http {

// Answers each connection from its own list of texts, one text per request seen; then closes.
class ScriptedServer {
 public:
  using Answers = std::vector<std::string>;
  static constexpr const char* kReset = "<reset>";  // instead of an answer

  ScriptedServer(runtime::Shard& shard, std::vector<Answers> connections)
      : group(shard), answers_(std::move(connections)) {
    net::ignore_sigpipe();
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener = std::move(*bound);
    runtime::Shard* const shards[] = {&shard};
    listener->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      group.spawn("scripted", serve(std::move(stream), accepted++));
    });
  }
  Origin origin() const {
    Origin origin;
    origin.host = "127.0.0.1";
    origin.port = listener->port();
    return origin;
  }
  Task<void> stop() {
    listener->stop();
    co_await group.join();
  }

  std::unique_ptr<net::Listener> listener;
  runtime::TaskGroup group;
  std::size_t accepted = 0;
  std::vector<std::string> requests;

 private:
  Task<void> serve(std::unique_ptr<net::ByteStream> stream, std::size_t number) {
    Answers mine;
    if (number < answers_.size()) mine = answers_[number];
    std::string seen;
    for (const std::string& answer : mine) {
      const bool asked = co_await read_until(*stream, seen, "\r\n\r\n");
      if (!asked) co_return;
      if (answer == kReset) co_return;  // the body is not read: closing resets
      const bool whole = co_await read_until(*stream, seen, "!");  // every test body ends so
      if (!whole) co_return;
      requests.push_back(seen);
      seen.clear();
      co_await say(*stream, answer);
    }
    if (hold) {
      std::array<char, 64> buffer;
      Result<std::size_t> end = co_await stream->read_some(buffer);
      static_cast<void>(end);
    }
  }
  std::vector<Answers> answers_;

 public:
  bool hold = false;  // keep the connection open after the last answer, until the client ends it
};

inline std::string ok(std::string_view body, std::string_view fields = {}) {
  std::string text = "HTTP/1.1 200 OK\r\n";
  text.append(fields).append("Content-Length: ").append(std::to_string(body.size()));
  return text.append("\r\n\r\n").append(body);
}

inline std::vector<ScriptedServer::Answers> one_answer(std::string text) {
  return std::vector<ScriptedServer::Answers>(1, ScriptedServer::Answers(1, std::move(text)));
}

struct Ask {
  std::string_view parts[2] = {"hello", "!"};
  http1::Field fields[1] = {{"Content-Type", "application/json"}};
  Request request;
  Ask() {
    request.target = "/mcp";
    request.fields = fields;
    request.body = parts;
    request.deadline = Clock::now() + kPatience;
  }
};

inline Task<std::string> ask(Client& client, const Ask& what) {
  Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
  if (!response) co_return "<" + response.error().code + ">";
  Result<PaddedBuffer> body = co_await (*response)->body();
  if (!body) co_return "<" + body.error().code + ">";
  co_return std::to_string((*response)->head().status) + " " + std::string(body->view());
}

}  // namespace mcpx::http
