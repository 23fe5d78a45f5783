// The client against our server and against scripted ones.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/client.hpp"
#include "unit/http/scripted_server.hpp"

namespace mcpx::http {
namespace {

Task<void> round_trip_body(runtime::Shard& shard) {
  Echo echo;
  Loopback loopback(shard, ServerOptions(), echo);
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = loopback.port();
  Client client(shard, origin, Client::Options());
  for (int i = 0; i < 3; ++i) {
    const Ask what;
    const std::string answer = co_await ask(client, what);
    REQUIRE(answer == "200 hello!");
  }
  REQUIRE(loopback.server.connections() == 1);  // kept and used again
  client.close();
  const Ask late;
  const std::string refused = co_await ask(client, late);
  REQUIRE(refused == "<http.closed>");
  co_await loopback.stop(kPatience);
}
TEST_CASE("requests share a kept connection") {
  test::on_shard(round_trip_body);
}

// One scripted server, one client, `asks` requests in turn.
Task<void> talk(runtime::Shard& shard, ScriptedServer& server, std::vector<std::string> expected,
                Client::Options options = Client::Options()) {
  {
    Client client(shard, server.origin(), options);
    for (const std::string& answer : expected) {
      const Ask what;
      const std::string got = co_await ask(client, what);
      CHECK(got == answer);
    }
  }
  co_await server.stop();
}

struct TalkCase {
  const char* name;
  std::vector<ScriptedServer::Answers> connections;
  std::vector<std::string> expected;
  std::size_t dialled;
};

Task<void> talk_case(runtime::Shard& shard, const TalkCase& c) {
  ScriptedServer server(shard, c.connections);
  Client::Options options;
  options.limits.body_bytes = 1000;
  co_await talk(shard, server, c.expected, options);
  CHECK(server.accepted == c.dialled);
}

TEST_CASE("the client copes with what servers do to connections") {
  const std::string big(2'000, 'x');
  const TalkCase cases[] = {
      {"keeps the connection", {{ok("a"), ok("b")}}, {"200 a", "200 b"}, 1},
      {"dials again after Connection: close",
       {{ok("a", "Connection: close\r\n")}, {ok("b")}},
       {"200 a", "200 b"},
       2},
      {"dials again when a kept connection was closed",
       {{ok("a")}, {ok("b")}},
       {"200 a", "200 b"},
       2},
      {"does not send again what the server may have acted on",
       {{ok("a"), ScriptedServer::kReset}, {ok("b")}},
       {"200 a", "<http.closed>", "200 b"},
       2},
      {"dials again only once",
       {{ok("a")}, {ScriptedServer::kReset}, {ok("c")}},
       {"200 a", "<http.closed>"},
       2},
      {"does not send again on a fresh connection",
       {{ScriptedServer::kReset}},
       {"<http.closed>"},
       1},
      {"does not send again once an answer began",
       {{ok("a"), "HTTP/1.1 2"}},
       {"200 a", "<http.closed>"},
       1},
      {"reads a body that ends with the connection",
       {{"HTTP/1.0 200 OK\r\n\r\nall of it"}, {ok("b")}},
       {"200 all of it", "200 b"},
       2},
      {"reads chunks",
       {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
         ok("b")}},
       {"200 abc", "200 b"},
       1},
      {"skips 100 Continue", {{"HTTP/1.1 100 Continue\r\n\r\n" + ok("a")}}, {"200 a"}, 1},
      {"does not use a connection with surplus bytes again",
       {{ok("a") + "surplus"}, {ok("b")}},
       {"200 a", "200 b"},
       2},
      {"passes errors on",
       {{"HTTP/1.1 404 Not Found\r\nContent-Length: 1\r\n\r\nx"}},
       {"404 x"},
       1},
      {"refuses what is no HTTP", {{"hello there\r\n\r\n"}}, {"<http.bad_response>"}, 1},
      {"refuses a body over the limit", {{ok(big)}}, {"<http.too_large>"}, 1},
  };
  for (const TalkCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      test::on_shard([&c](runtime::Shard& shard) { return talk_case(shard, c); });
    }
  }
}

Task<void> written_body(runtime::Shard& shard) {
  ScriptedServer server(shard, one_answer(ok("a")));
  const std::string host = "127.0.0.1:" + std::to_string(server.listener->port());
  const std::vector<std::string> expected(1, "200 a");
  co_await talk(shard, server, expected, Client::Options());
  REQUIRE(server.requests.size() == 1);
  REQUIRE(server.requests[0] == "POST /mcp HTTP/1.1\r\nHost: " + host +
                                    "\r\nContent-Type: application/json\r\nContent-Length: 6"
                                    "\r\n\r\nhello!");
}
TEST_CASE("a request is exactly what was asked for") {
  test::on_shard(written_body);
}

Task<void> refused_body(runtime::Shard& shard) {
  auto listener = net::listen_tcp(shard, "127.0.0.1", 0);
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = (*listener)->port();
  (*listener)->stop();
  Client client(shard, origin, Client::Options());
  const Ask what;
  Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
  REQUIRE(response.has_error());
  REQUIRE(response.error().code == "http.dial");
  REQUIRE(response.error().message.find("net.refused") != std::string::npos);
}
TEST_CASE("a server that is not there is http.dial") {
  test::on_shard(refused_body);
}

Task<void> silent_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  Origin origin;
  origin.host = "localhost";
  origin.port = loopback.port();
  Client client(shard, origin, Client::Options());
  Ask what;
  what.request.deadline = Clock::now() + Milliseconds(5);
  const std::string answer = co_await ask(client, what);
  REQUIRE(answer == "<http.timeout>");
  co_await patient.left.wait();  // closing was how the server was told
  co_await loopback.stop(kPatience);
}
TEST_CASE("a server that does not answer ends at the deadline") {
  test::on_shard(silent_body);
}

Task<void> cancel_when(runtime::OneShot<int>& entered, runtime::CancelSource& cancel) {
  co_await entered.wait();
  cancel.cancel("not wanted");
}

Task<void> cancel_body(runtime::Shard& shard) {
  Patient patient;
  Loopback loopback(shard, ServerOptions(), patient);
  Origin origin;
  origin.host = "127.0.0.1";
  origin.port = loopback.port();
  Client client(shard, origin, Client::Options());
  runtime::CancelSource cancel;
  runtime::TaskGroup group(shard);
  group.spawn("cancel", cancel_when(patient.entered, cancel));
  Ask what;
  what.request.cancel = &cancel;
  std::string answer = co_await ask(client, what);
  REQUIRE(answer == "<http.cancelled>");
  answer = co_await ask(client, what);  // already cancelled: nothing is sent
  REQUIRE(answer == "<http.cancelled>");
  co_await group.join();
  co_await patient.left.wait();
  REQUIRE_FALSE(patient.reason.empty());
  co_await loopback.stop(kPatience);
}
TEST_CASE("a cancelled request closes its connection") {
  test::on_shard(cancel_body);
}

Task<void> forgotten_cancel_body(runtime::Shard& shard) {
  ScriptedServer server(shard, {{ok("one"), ok("two")}});
  Client client(shard, server.origin(), Client::Options());
  runtime::CancelSource cancel;
  Ask what;
  what.request.cancel = &cancel;
  {
    Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
    REQUIRE(response.has_value());
    (*response)->forget_cancel();
    cancel.cancel("too late");
    Result<PaddedBuffer> body = co_await (*response)->body();
    REQUIRE(body.has_value());
  }
  const Ask next;  // over the same connection, or there is no answer
  const std::string answer = co_await ask(client, next);
  REQUIRE(answer == "200 two");
  client.close();
  co_await server.stop();
}
TEST_CASE("an answer that has forgotten the cancel source of its request is not closed by it") {
  test::on_shard(forgotten_cancel_body);
}

Task<void> stream_body(runtime::Shard& shard) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::vector<ScriptedServer::Answers> answers =
      one_answer(head + "8\r\ndata: 1\n\r\nb\r\n\n: note\n\nda\r\n7\r\nta: 2\n\n\r\n0\r\n\r\n");
  answers[0].push_back(ok("b"));
  ScriptedServer server(shard, answers);
  {
    Client client(shard, server.origin(), Client::Options());
    const Ask what;
    Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
    REQUIRE(response.has_value());
    std::vector<std::string> data;
    while (true) {
      auto event = co_await (*response)->next_event(Clock::now() + kPatience);
      REQUIRE(event.has_value());
      if (!*event) break;
      data.push_back((*event)->data);
    }
    REQUIRE(data == std::vector<std::string>{"1", "2"});
    response = Error();  // complete: the connection is kept
    const std::string answer = co_await ask(client, what);
    REQUIRE(answer == "200 b");
    REQUIRE(server.accepted == 1);
  }
  co_await server.stop();
}
TEST_CASE("events are read from a stream and its connection used again") {
  test::on_shard(stream_body);
}

Task<void> close_later(runtime::Shard& shard, Response& response) {
  runtime::Timer timer(shard);
  co_await timer.sleep_for(Milliseconds(1));
  response.close();
}

Task<void> endless_body(runtime::Shard& shard) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
  std::vector<ScriptedServer::Answers> answers = one_answer(head);
  answers.push_back(answers.front());
  ScriptedServer server(shard, answers);
  server.hold = true;
  {
    Client client(shard, server.origin(), Client::Options());
    const Ask what;
    Result<std::unique_ptr<Response>> response = co_await client.send(what.request);
    REQUIRE(response.has_value());
    auto event = co_await (*response)->next_event(kNever);
    REQUIRE(event.has_value());
    REQUIRE((*event)->data == "1");
    event = co_await (*response)->next_event(Clock::now() + Milliseconds(2));
    REQUIRE(event.error().code == "http.timeout");
    runtime::TaskGroup group(shard);
    group.spawn("close", close_later(shard, **response));
    event = co_await (*response)->next_event(kNever);
    REQUIRE(event.error().code == "http.closed");
    co_await group.join();

    response = co_await client.send(what.request);
    REQUIRE(response.has_value());
    client.close();
    event = co_await (*response)->next_event(kNever);  // what had arrived is still there
    if (event) event = co_await (*response)->next_event(kNever);
    REQUIRE(event.has_error());
    REQUIRE(event.error().code == "http.closed");
  }
  co_await server.stop();
}
TEST_CASE("a pending next_event ends by its deadline, by close() and with its client") {
  test::on_shard(endless_body);
}

}  // namespace
}  // namespace mcpx::http
