// Handlers for tests of the server, and requests as text.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fake/fake_stream.hpp"
#include "http/server.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/task_group.hpp"
#include "runtime/timer.hpp"
#include "unit/runtime/on_shard.hpp"

namespace mcpx::http {

inline constexpr std::span<const http1::Field> kNoFields;
inline constexpr std::span<const std::string_view> kNoParts;

inline std::string post(std::string_view target, std::string_view body,
                        std::string_view fields = {}) {
  std::string text = "POST ";
  text.append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(fields);
  text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
  return text.append(body);
}

// Answers with the body it got.
class Echo final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override;
  std::vector<std::string> bodies, ids;
  std::size_t failed = 0;
};

inline Task<void> Echo::handle(Exchange& exchange) {
  const PaddedBuffer body = exchange.take_body();
  bodies.emplace_back(body.view());
  ids.emplace_back(exchange.request_id());
  const std::string_view parts[] = {body.view()};
  Result<void> sent = co_await exchange.respond(200, "text/plain", parts, kNoFields);
  failed += sent.has_error();
}

// Waits to be released or for its client to go, then answers.
class Patient final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override;
  runtime::OneShot<int> entered, release, left;
  std::string reason;
};

inline Task<void> Patient::handle(Exchange& exchange) {
  entered.set(1);
  auto gone = exchange.gone().subscribe([this](const std::string& why) {
    reason = why;
    release.set(1);
  });
  const int value = co_await release.wait();
  static_cast<void>(value);
  const std::string_view parts[] = {"late"};
  Result<void> sent = co_await exchange.respond(200, "text/plain", parts, kNoFields);
  static_cast<void>(sent);
  left.set(1);
}

// Answers once all it was told to expect are there, so that their connections are busy together.
class Gathering final : public Handler {
 public:
  explicit Gathering(int wanted) : missing_(wanted) {}
  Task<void> handle(Exchange& exchange) override;
  runtime::Latch all, open;

 private:
  int missing_;
};

inline Task<void> Gathering::handle(Exchange& exchange) {
  if (--missing_ == 0) all.open();
  co_await open.wait();
  const std::string_view parts[] = {"done"};
  Result<void> sent = co_await exchange.respond(200, "text/plain", parts, kNoFields);
  static_cast<void>(sent);
}

}  // namespace mcpx::http
