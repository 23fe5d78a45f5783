// ScriptedServer: an HTTP server of which a test says every byte, behind a real listener.
//
// A test gives one coroutine that serves a request: it answers with a body, a stream in pieces, or
// by breaking off. Everything that came is kept in `seen`. Thread: the test's shard.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http1/decoder.hpp"
#include "http1/encode.hpp"
#include "json/json.hpp"
#include "mcp/self.hpp"
#include "net/endpoint.hpp"
#include "rpc/message.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/upstream/servers.hpp"
#include "upstream/server.hpp"

namespace mcpx::upstream::scripted {

// One request as it came.
struct Seen {
  std::string http, target;       // "POST", "/mcp"
  std::string method, id, token;  // of the JSON-RPC message: its method, raw id, progress token
  std::string params, answer;     // raw; answer: the result or error of a response
  std::string session, version, last_event_id, accept, mcp_method, mcp_name, authorization;
  http1::Fields fields;  // all of them
  TimePoint when;
};

// The means to answer one request.
class Talk {
 public:
  explicit Talk(net::ByteStream& stream) : stream_(stream) {}

  Task<void> say(std::string bytes) {
    Result<void> sent = co_await net::write_all(stream_, bytes);
    static_cast<void>(sent);  // a client that left
  }
  Task<void> respond(unsigned status, std::string type, std::string body,
                     std::string fields = std::string()) {
    std::string text = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n" + fields;
    if (!type.empty()) text += "Content-Type: " + type + "\r\n";
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    co_await say(std::move(text));
  }
  Task<void> json(std::string body, std::string fields = std::string()) {
    co_await respond(200, "application/json", std::move(body), std::move(fields));
  }
  Task<void> result(const Seen& request, std::string raw, std::string fields = std::string()) {
    std::string body;
    rpc::append_result(body, request.id, raw);
    co_await json(std::move(body), std::move(fields));
  }
  Task<void> accepted() { co_await respond(202, std::string(), std::string()); }

  Task<void> begin_stream(std::string fields = std::string()) {
    co_await say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + fields +
                 "Transfer-Encoding: chunked\r\n\r\n");
  }
  Task<void> event(std::string raw) {  // the lines of one event or more, as they are
    std::string chunk;
    http1::append_chunk(chunk, raw);
    co_await say(std::move(chunk));
  }
  Task<void> end_stream() { co_await say(std::string(http1::kLastChunk)); }
  void cut() { stream_.close(); }
  // Until the client has closed the connection.
  Task<void> until_gone() {
    std::array<char, 256> buffer;
    while (true) {
      Result<std::size_t> bytes = co_await stream_.read_some(buffer);
      if (!bytes || *bytes == 0) co_return;
    }
  }
  // What a test puts into the box, until the box is closed: then the stream's end.
  Task<void> stream_from(runtime::Mailbox<std::string>& box) {
    while (true) {
      std::optional<std::string> raw = co_await box.pop();
      if (!raw) break;
      co_await event(std::move(*raw));
    }
    co_await end_stream();
  }

 private:
  net::ByteStream& stream_;
};

class ScriptedServer {
 public:
  using Serve = std::function<Task<void>(const Seen&, Talk&)>;

  ScriptedServer(runtime::Shard& shard, Serve serve)
      : shard_(shard), serve_(std::move(serve)), tasks_(shard) {
    net::ignore_sigpipe();
    auto bound = net::listen_tcp(shard, "127.0.0.1", 0);
    REQUIRE(bound.has_value());
    listener_ = std::move(*bound);
    port_ = listener_->port();
    start();
  }

  std::string url(std::string_view path = "/mcp") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }
  std::size_t count(std::string_view method) const {
    std::size_t n = 0;
    for (const Seen& one : seen)
      n += one.method == method || (one.method.empty() && one.http == method);
    return n;
  }
  // Waits until so many came; the test's own time limit bounds it.
  Task<void> until(std::string method, std::size_t n) {
    runtime::Timer timer(shard_);
    while (count(method) < n) {
      const bool reached = co_await timer.sleep_for(Milliseconds(2));
      static_cast<void>(reached);
    }
  }
  const Seen& last(std::string_view method) const {
    for (std::size_t i = seen.size(); i > 0; --i) {
      const Seen& one = seen[i - 1];
      if (one.method == method || (one.method.empty() && one.http == method)) return one;
    }
    FAIL("nothing came for " << method);
    return seen.front();
  }
  // Every connection ends now; new ones are taken.
  void cut_all() {
    for (net::ByteStream* stream : open_)
      stream->close();
  }
  Task<void> stop() {
    listener_->stop();
    cut_all();
    co_await tasks_.join();
  }

  std::vector<Seen> seen;
  std::size_t connections = 0;

 private:
  void start() {
    runtime::Shard* const shards[] = {&shard_};
    listener_->start(shards, [this](runtime::Shard&, std::unique_ptr<net::ByteStream> stream) {
      ++connections;
      tasks_.spawn("connection", converse(std::move(stream)));
    });
  }

  Task<void> converse(std::unique_ptr<net::ByteStream> stream) {
    open_.push_back(stream.get());
    http1::RequestDecoder decoder{http1::Limits()};
    std::string pending;
    std::array<char, 4096> buffer;
    while (true) {
      const std::size_t used = decoder.feed(pending);
      pending.erase(0, used);
      if (decoder.done()) {
        const Seen now = read(decoder);
        seen.push_back(now);
        decoder.reset();
        Talk talk(*stream);
        Task<void> served = serve_(now, talk);
        co_await std::move(served);
        continue;
      }
      Result<std::size_t> bytes = co_await stream->read_some(buffer);
      if (!bytes || *bytes == 0) break;
      pending.append(buffer.data(), *bytes);
    }
    std::erase(open_, stream.get());
  }

  static Seen read(http1::RequestDecoder& decoder) {
    const http1::RequestHead& head = decoder.head();
    const auto field = [&](std::string_view name) {
      return std::string(head.fields.find(name).value_or(""));
    };
    Seen now;
    now.http = head.method;
    now.target = head.target;
    now.session = field("Mcp-Session-Id");
    now.version = field("MCP-Protocol-Version");
    now.last_event_id = field("Last-Event-ID");
    now.accept = field("Accept");
    now.mcp_method = field("Mcp-Method");
    now.mcp_name = field("Mcp-Name");
    now.authorization = field("Authorization");
    now.fields = head.fields;
    now.when = Clock::now();
    auto parsed = rpc::parse(decoder.take_body(), json::Limits());
    if (!parsed) return now;
    now.method = parsed->method;
    now.id = parsed->id;
    now.params = parsed->params;
    now.token = json::find(parsed->params, "_meta", "progressToken").value_or("");
    now.answer = parsed->kind == rpc::Kind::error ? parsed->error : parsed->result;
    if (parsed->kind == rpc::Kind::result || parsed->kind == rpc::Kind::error) {
      now.method = "(answer)";
    }
    return now;
  }

  runtime::Shard& shard_;
  Serve serve_;
  std::unique_ptr<net::Listener> listener_;
  std::uint16_t port_ = 0;
  std::vector<net::ByteStream*> open_;
  runtime::TaskGroup tasks_;
};

// An upstream server of a test, configured for a ScriptedServer.
struct House {
  House(runtime::Shard& shard, const std::string& url) {
    config.name = "remote";
    config.url = url;
    config.headers = {{"Authorization", "Bearer top-secret"}};
    environment.client_info = mcp::kSelf;
    environment.shards = {&shard};
    environment.redactor = std::make_shared<const Redactor>(std::vector<std::string>{"top-secret"});
  }
  config::Server config;
  Environment environment;
};

using test::call_of;
using test::code_of;
inline std::string message_of(const call::Outcome& outcome) {
  return json::find_string(outcome.error, "message").value_or("");
}

inline std::string initialized(std::string_view version) {
  return R"({"protocolVersion":")" + std::string(version) +
         R"(","capabilities":{"tools":{"listChanged":true},"logging":{}},)"
         R"("serverInfo":{"name":"h","version":"1"}})";
}

// A legacy server: it opens a session, lists one tool and answers calls; what a test sets differs.
struct Legacy {
  using Serve = ScriptedServer::Serve;
  std::string version = "2025-11-25";
  std::string session = "session-1";  // the one it knows; empty: it has none
  Serve call, get, list, probe, other;
  int initialized = 0;

  Task<void> serve(const Seen& seen, Talk& talk) {
    const Serve& special = seen.http == "GET"                 ? get
                           : seen.method == "tools/call"      ? call
                           : seen.method == "tools/list"      ? list
                           : seen.method == "server/discover" ? probe
                                                              : other;
    if (special) {
      Task<void> served = special(seen, talk);
      co_await std::move(served);
    } else {
      co_await usual(seen, talk);
    }
  }
  Task<void> usual(const Seen& seen, Talk& talk) {
    if (seen.http == "GET") {
      co_await talk.respond(405, "", "");
    } else if (seen.http == "DELETE") {
      co_await talk.respond(200, "", "");
    } else if (seen.method == "server/discover") {
      co_await talk.respond(400, "text/plain", "Bad Request");
    } else if (seen.method == "initialize") {
      ++initialized;
      std::string fields;
      if (!session.empty()) fields = "Mcp-Session-Id: " + session + "\r\n";
      co_await talk.result(seen, mcpx::upstream::scripted::initialized(version), fields);
    } else if (seen.id.empty() || seen.method == "(answer)") {
      co_await talk.accepted();
    } else if (seen.method == "tools/list") {
      co_await talk.result(seen, R"({"tools":[{"name":"echo"}]})");
    } else {
      co_await talk.result(seen, R"({"content":[],"n":1.0})");
    }
  }
  ScriptedServer::Serve serving() {
    return [this](const Seen& seen, Talk& talk) { return serve(seen, talk); };
  }
};

// A legacy server behind a listener, and the Server that uses it.
struct Scene {
  explicit Scene(runtime::Shard& shard) : http(shard, legacy.serving()), house(shard, http.url()) {}
  Server& server(runtime::Shard& shard) {
    upstream = std::make_unique<Server>(shard, house.config, house.environment);
    return *upstream;
  }
  Task<void> end() {
    if (upstream) co_await upstream->stop(Clock::now() + Milliseconds(5000));
    co_await http.stop();
  }
  Legacy legacy;
  ScriptedServer http;
  House house;
  std::unique_ptr<Server> upstream;
};

}  // namespace mcpx::upstream::scripted
