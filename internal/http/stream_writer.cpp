// The writing half of Connection: complete answers and event streams.
#include <charconv>
#include <utility>

#include "http/answer.hpp"
#include "http/connection.hpp"
#include "http1/encode.hpp"
#include "http1/sse.hpp"

namespace mcpx::http {
namespace {

// Up to here an event is copied into one chunk; above, it is gathered from where it lies.
constexpr std::size_t kCopiedEvent = 4 * 1024;
constexpr std::string_view kEventType = "event: message\n";
constexpr std::string_view kIdBegin = "id: ";
constexpr std::string_view kDataBegin = "data: ";
constexpr std::string_view kEventEnd = "\n\n";

Error misuse(std::string_view what) {
  return Error("http.misuse", std::string(what));
}

Task<Result<void>> failed(Error error) {
  co_return error;
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Also bytes of a peer that are no UTF-8: each becomes one character, never bad JSON.
      out.append("\\u00");
      out += kHex[byte >> 4U];
      out += kHex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

std::string error_body(const Error& error) {
  std::string out = R"({"error":{"code":)";
  append_escaped(out, error.code);
  out.append(R"(,"message":)");
  append_escaped(out, error.message);
  out.append(R"(,"remedy":)");
  append_escaped(out, error.remedy);
  out.append("}}");
  return out;
}

Task<Result<void>> Connection::send() {
  const std::size_t written = stream_->try_write(parts_);
  const std::span<const std::string_view> rest = net::without_first(parts_, written);
  if (rest.empty()) co_return Result<void>();
  writing_ = true;
  stream_->write_deadline(Clock::now() + options().write_timeout);
  Result<void> sent = co_await stream_->write(rest);
  writing_ = false;
  if (!sent) {
    keep_alive_ = false;
    client_left_ = true;
    if (gone_) gone_->cancel(sent.error().message);
  }
  co_return sent;
}

Task<Result<void>> Connection::respond(unsigned status, std::string_view content_type,
                                       std::span<const std::string_view> body,
                                       std::span<const http1::Field> extra) {
  if (answer_ != Answer::none || writing_) return failed(misuse("the request was answered twice"));
  answer_ = Answer::complete;
  if (stopping_) keep_alive_ = false;
  std::size_t length = 0;
  for (const std::string_view part : body) {
    length += part.size();
  }
  text_.clear();
  http1::append_response_head(text_, status, content_type, length, with_cors(extra), keep_alive_);
  parts_.clear();
  parts_.push_back(text_);
  // What must not have a body (RFC 9110 sections 9.3.2, 15.3.5, 15.4.5) gets none.
  const bool bodiless = status == 204 || status == 304 || head().method == "HEAD";
  if (!bodiless) parts_.insert(parts_.end(), body.begin(), body.end());
  return send();
}

Task<Result<void>> Connection::begin_stream(std::span<const http1::Field> extra) {
  if (answer_ != Answer::none || writing_) co_return misuse("the request was answered twice");
  answer_ = Answer::streaming;
  if (stopping_) keep_alive_ = false;
  const std::span<const http1::Field> all = with_cors(extra);
  std::vector<http1::Field> fields(all.begin(), all.end());
  fields.emplace_back("Cache-Control", "no-cache");
  fields.emplace_back("X-Accel-Buffering", "no");  // nginx in front must pass events on at once
  if (!keep_alive_) fields.emplace_back("Connection", "close");
  text_.clear();
  http1::append_chunked_response_head(text_, 200, "text/event-stream", fields);
  parts_.assign(1, text_);
  co_return co_await send();
}

Task<Result<void>> Connection::send_chunk(std::string_view data) {
  if (answer_ != Answer::streaming || writing_) co_return misuse("no event can be sent now");
  text_.clear();
  http1::append_chunk(text_, data);
  parts_.assign(1, text_);
  co_return co_await send();
}

Task<Result<void>> Connection::send_event(std::string_view json, std::string_view id) {
  if (json.size() > kCopiedEvent && json.find_first_of("\r\n") == std::string_view::npos) {
    co_return co_await send_large_event(json, id);
  }
  std::string event;
  event.reserve(kEventType.size() + kIdBegin.size() + id.size() + kDataBegin.size() + json.size() +
                kEventEnd.size() + 1);
  http1::append_sse_event(event, json, id);
  co_return co_await send_chunk(event);
}

Task<Result<void>> Connection::send_large_event(std::string_view json, std::string_view id) {
  if (answer_ != Answer::streaming || writing_) co_return misuse("no event can be sent now");
  std::string head(kEventType);
  if (!id.empty()) head.append(kIdBegin).append(id) += '\n';
  head += kDataBegin;
  std::array<char, 20> digits;
  const std::size_t size = head.size() + json.size() + kEventEnd.size();
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), size, 16).ptr;
  text_.assign(digits.data(), end);
  text_.append("\r\n").append(head);
  parts_.assign(1, text_);
  parts_.push_back(json);
  parts_.push_back("\n\n\r\n");
  co_return co_await send();
}

Task<Result<void>> Connection::send_framed(std::string_view event) {
  co_return co_await send_chunk(event);
}

Task<Result<void>> Connection::send_keep_alive() {
  co_return co_await send_chunk(http1::kSseKeepAlive);
}

Task<Result<void>> Connection::end_stream() {
  if (answer_ != Answer::streaming || writing_) co_return misuse("no stream is open");
  answer_ = Answer::ended;
  parts_.assign(1, http1::kLastChunk);
  co_return co_await send();
}

}  // namespace mcpx::http
