// One handshake as a test tells it, and the answers that tests give.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "json/json.hpp"
#include "mcp/probe.hpp"

namespace mcpx::mcp {

inline constexpr const char* kInitialized =
    R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
    R"("serverInfo":{"name":"old","version":"1"},"instructions":"be\u0020kind"})";
inline constexpr const char* kDiscovered =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},)"
    R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"2"}},)"
    R"("instructions":"hi","ttlMs":0,"cacheScope":"public"})";

inline Handshake::Options options(Protocol protocol = Protocol::automatic) {
  Handshake::Options out;
  out.protocol = protocol;
  out.client_info = R"({"name":"test","version":"0"})";
  out.client_capabilities = R"({"roots":{}})";
  return out;
}

inline Handshake::Options knowing(Era era) {
  Handshake::Options out = options();
  out.known_era = era;
  return out;
}

// One handshake, told what happens.
class Talk {
 public:
  explicit Talk(Handshake::Options with = options()) : handshake_(std::move(with)) {
    action_ = handshake_.step(Handshake::Start{});
  }
  Talk& result(const std::string& text) { return feed(Handshake::GotResult{text}); }
  Talk& error(const std::string& text, unsigned http_status = 0) {
    return feed(Handshake::GotError{text, http_status});
  }
  Talk& refused(unsigned http_status) {
    return feed(Handshake::Refused{http_status, Error("upstream.http_status", "refused")});
  }
  Talk& times_out() { return feed(Handshake::TimedOut{}); }
  Talk& sent() { return feed(Handshake::Sent{}); }
  Talk& feed(const Handshake::Event& event) {
    action_ = handshake_.step(event);
    return *this;
  }

  // "server/discover", "notifications/initialized", "done 2025-06-18" or "failed".
  std::string wants() const {
    if (const auto* request = std::get_if<Handshake::SendRequest>(&action_)) return request->method;
    if (const auto* note = std::get_if<Handshake::SendNotification>(&action_)) return note->method;
    if (std::holds_alternative<Handshake::OpenEventStream>(action_)) return "stream";
    if (const auto* done = std::get_if<Handshake::Done>(&action_)) {
      return "done " + std::string(text(done->facts.revision));
    }
    return "failed";
  }
  const Handshake::SendRequest& request() const {
    return std::get<Handshake::SendRequest>(action_);
  }
  const ServerFacts& facts() const { return std::get<Handshake::Done>(action_).facts; }
  const Error& failure() const { return std::get<Handshake::Failed>(action_).error; }

 private:
  Handshake handshake_;
  Handshake::Action action_ = Handshake::SendNotification{};
};

}  // namespace mcpx::mcp
