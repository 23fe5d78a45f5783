// Answer: what one request is answered with, before it is on the wire; and the ways it gets there.
//
// Its body is text of its own, a rendered list of a snapshot, or what an upstream sent: that one is
// written from where it lies, between a prefix and a suffix, and never copied.
// Thread: the shard of the request.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "call/call.hpp"
#include "downstream/fields.hpp"
#include "http/server.hpp"
#include "json/json.hpp"
#include "registry/snapshot.hpp"

namespace mcpx::downstream {

inline constexpr std::span<const http1::Field> kNoFields;

class Answer {
 public:
  static Answer result(std::string raw);
  static Answer shared(registry::Rendered raw);
  static Answer forwarded(call::Outcome outcome);  // its result, as it is
  static Answer error(int code, std::string_view message, json::Raw data = {},
                      unsigned status = 200);
  static Answer error_object(std::string raw, unsigned status);
  // For a request its client has cancelled: no response at all (basic/utilities/cancellation).
  static Answer silence();

  unsigned status() const { return status_; }
  bool is_error() const { return is_error_; }
  bool is_silence() const { return source_ == Source::none; }
  json::Raw body() const;

  Answer(Answer&&) noexcept = default;
  Answer& operator=(Answer&&) noexcept = default;

 private:
  enum class Source : std::uint8_t { none, text, shared, outcome };
  explicit Answer(Source source) : source_(source) {}

  Source source_;
  bool is_error_ = false;
  unsigned status_ = 200;
  std::string text_;
  registry::Rendered shared_;
  call::Outcome outcome_;
};

// The whole JSON-RPC response. `id` is a raw token; empty: left out.
void append_response(std::string& out, json::Raw id, const Answer& answer);

// Answers an exchange that nothing was sent on: as JSON, or as a stream of one event for a client
// that reads only those.
Task<void> send_answer(http::Exchange& exchange, Accepts accepts, json::Raw id,
                       const Answer& answer, std::span<const http1::Field> extra);
// The last event of an exchange that streams already.
Task<void> send_last_event(http::Exchange& exchange, json::Raw id, const Answer& answer);

// A JSON-RPC error as the HTTP answer, whatever the client accepts.
Task<void> send_error(http::Exchange& exchange, unsigned status, json::Raw id, int code,
                      std::string_view message, json::Raw data = json::Raw());
Task<void> send_body(http::Exchange& exchange, unsigned status, std::string_view type,
                     std::string_view body, std::span<const http1::Field> extra);
Task<void> send_empty(http::Exchange& exchange, unsigned status);

}  // namespace mcpx::downstream
