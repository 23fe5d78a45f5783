#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "http/wire.hpp"

namespace mcpx::http {
namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kLargestBuffer = 64 * 1024;
constexpr std::size_t kPiece = 16 * 1024;  // unpacked at once

}  // namespace

ClientResponse::ClientResponse(std::shared_ptr<Pool> pool, std::unique_ptr<Wire> wire,
                               const Request& request)
    : pool_(std::move(pool)),
      wire_(std::move(wire)),
      events_(pool_->options().limits.body_bytes),
      method_(request.method) {
  pool_->enter(*this);
  if (request.cancel) {
    subscription_ = request.cancel->subscribe([this](const std::string&) {
      cancelled_ = true;
      close();
    });
  }
}

ClientResponse::~ClientResponse() {
  pool_->leave(*this);
  // Anything but a complete answer leaves the connection in the middle of a message.
  const bool reusable = !closed_ && !broken_ && !wire_->surplus && wire_->decoder.done() &&
                        wire_->decoder.head().keep_alive && method_ != "HEAD";
  if (reusable) pool_->give_back(std::move(wire_));
}

Task<Result<void>> ClientResponse::start(const Request& request) {
  wire_->stream->read_deadline(request.deadline);
  compose(request);
  const std::size_t bytes = wire_->stream->try_write(wire_->parts);
  const std::span<const std::string_view> rest = net::without_first(wire_->parts, bytes);
  Result<void> written;
  if (!rest.empty()) {
    wire_->stream->write_deadline(request.deadline);
    written = co_await wire_->stream->write(rest);
  }
  sent_ = written.has_value();
  // A server that refuses a large body may answer and close before it has read it all, so what it
  // said is worth reading.
  if (!written && written.error().code != "net.reset") co_return explain(written.error());
  while (!wire_->decoder.head_done()) {
    const Result<std::size_t> arrived = co_await wire_->stream->read_some(room());
    const Result<Input> input = take_in(arrived);
    if (!input) co_return input.error();
    if (*input == Input::ended && !wire_->decoder.head_done()) {
      broken_ = true;
      co_return Error("http.closed", fmt::format("{} closed the connection before it answered",
                                                 wire_->stream->peer()));
    }
  }
  if (!written) broken_ = true;
  if (pool_->forwarder() && wire_->decoder.head().status == 407) {
    broken_ = true;
    co_return proxy_refusal(*pool_->forwarder(), pool_->host(), 407);
  }
  coding_ = http1::content_coding(head().fields);
  const bool packed =
      coding_ == http1::ContentCoding::gzip || coding_ == http1::ContentCoding::deflate;
  if (packed) inflater_ = std::make_unique<http1::Inflater>(coding_);
  co_return Result<void>();
}

void ClientResponse::compose(const Request& request) {
  std::size_t length = 0;
  for (const std::string_view part : request.body) {
    length += part.size();
  }
  wire_->text.clear();
  if (const Proxy* proxy = pool_->forwarder()) {
    append_forwarded_head(*proxy, request, length);
  } else {
    http1::append_request_head(wire_->text, request.method, request.target, pool_->host(),
                               request.fields, length);
  }
  wire_->parts.assign(1, wire_->text);
  wire_->parts.insert(wire_->parts.end(), request.body.begin(), request.body.end());
}

// RFC 9112 section 3.2.2: to a proxy the whole URL.
void ClientResponse::append_forwarded_head(const Proxy& proxy, const Request& request,
                                           std::size_t length) {
  const std::string_view path = request.target.empty() ? "/" : request.target;
  const std::string target = fmt::format("http://{}{}", pool_->host(), path);
  std::vector<http1::Field> fields(request.fields.begin(), request.fields.end());
  if (!proxy.authorization.empty()) {
    fields.emplace_back("Proxy-Authorization", proxy.authorization);
  }
  http1::append_request_head(wire_->text, request.method, target, pool_->host(), fields, length);
}

std::span<char> ClientResponse::room() {
  Wire& wire = *wire_;
  if (!wire.buffer) {
    wire.buffer = std::make_unique_for_overwrite<char[]>(kFirstBuffer);
    wire.buffer_size = kFirstBuffer;
  }
  return {wire.buffer.get(), wire.buffer_size};
}

Task<Result<ClientResponse::Input>> ClientResponse::pull() {
  const Result<std::size_t> bytes = co_await wire_->stream->read_some(room());
  co_return take_in(bytes);
}

Result<ClientResponse::Input> ClientResponse::take_in(const Result<std::size_t>& bytes) {
  Wire& wire = *wire_;
  if (!bytes) {
    broken_ = bytes.error().code != "net.timeout";  // a read that ran out of time can be repeated
    lost_ = bytes.error().code == "net.reset";
    return explain(bytes.error());
  }
  if (*bytes == 0) {
    broken_ = true;
    lost_ = true;
    if (!wire.decoder.started()) return Input::ended;
    wire.decoder.end_of_stream();
  } else {
    const std::size_t used = wire.decoder.feed(std::string_view(wire.buffer.get(), *bytes));
    wire.surplus = used < *bytes;
  }
  if (const http1::Refusal* refusal = wire.decoder.refusal()) {
    broken_ = true;
    return refusal->error;
  }
  if (*bytes == wire.buffer_size && wire.buffer_size < kLargestBuffer) {
    wire.buffer_size = std::min(wire.buffer_size * 8, kLargestBuffer);
    wire.buffer = std::make_unique_for_overwrite<char[]>(wire.buffer_size);
  }
  return *bytes == 0 ? Input::ended : Input::more;
}

bool ClientResponse::may_retry() const {
  return lost_ && !sent_ && !closed_ && !cancelled_ && !wire_->decoder.started();
}

Error ClientResponse::explain(const Error& error) const {
  if (cancelled_) return Error("http.cancelled", "the request was cancelled");
  if (error.code == "net.timeout") {
    return Error("http.timeout", fmt::format("{} did not answer in time", wire_->stream->peer()));
  }
  if (error.code == "net.tls") return Error("http.tls", error.message, error.remedy);
  return Error("http.closed", error.message);
}

std::optional<PaddedBuffer> ClientResponse::body_at_hand() {
  const bool whole = wire_->decoder.done() && coding_ == http1::ContentCoding::identity;
  if (!whole || method_ == "HEAD") return std::nullopt;
  return wire_->decoder.take_body();
}

Task<Result<PaddedBuffer>> ClientResponse::body() {
  if (method_ == "HEAD") co_return PaddedBuffer();
  if (coding_ != http1::ContentCoding::identity) co_return co_await decoded_body();
  while (!wire_->decoder.done()) {
    if (broken_) co_return Error("http.closed", "the connection ended within the answer");
    Result<Input> input = co_await pull();
    if (!input) co_return input.error();
  }
  co_return wire_->decoder.take_body();
}

Task<Result<PaddedBuffer>> ClientResponse::decoded_body() {
  PaddedBuffer body;
  while (true) {
    const bool last = wire_->decoder.done();
    Result<void> unpacked = unpack(body);
    if (!unpacked) {
      broken_ = true;
      co_return unpacked.error();
    }
    if (last) break;
    if (broken_) co_return Error("http.closed", "the connection ended within the answer");
    Result<Input> input = co_await pull();
    if (!input) co_return input.error();
  }
  const Result<void> whole = check_coding();
  if (!whole) co_return whole.error();
  co_return body;
}

Result<void> ClientResponse::unpack(PaddedBuffer& out) {
  if (const Result<void> fed = feed_inflater(); !fed) return fed.error();
  if (!inflater_) return {};
  const std::size_t limit = pool_->options().limits.body_bytes;
  std::array<char, kPiece> piece;
  while (const std::size_t bytes = inflater_->take(piece)) {
    if (out.size() + bytes > limit) {
      return Error("http.too_large",
                   fmt::format("the answer of {}, unpacked, is larger than {} bytes",
                               wire_->stream->peer(), limit));
    }
    out.append(std::string_view(piece.data(), bytes));
  }
  return {};
}

Result<void> ClientResponse::feed_inflater() {
  const PaddedBuffer arrived = wire_->decoder.take_body();
  if (arrived.empty()) return {};
  if (inflater_) {
    inflater_->feed(arrived.view());
    return {};
  }
  return Error("http.encoding",
               fmt::format("the answer of {} comes in the content coding {:?}, which was not asked "
                           "for and is not understood",
                           wire_->stream->peer(), http1::content_coding_text(head().fields)),
               "let the server, or the proxy before it, send bodies as they are, or in gzip");
}

Result<void> ClientResponse::check_coding() const {
  if (!inflater_ || inflater_->complete()) return {};
  const std::string_view what = inflater_->failed() ? "is not in the content coding it names"
                                                    : "ends within its content coding";
  return Error("http.bad_response",
               fmt::format("the answer of {} {}, {}", wire_->stream->peer(), what,
                           http1::content_coding_text(head().fields)),
               "see what the server, or the proxy before it, does to its answers");
}

Result<bool> ClientResponse::feed_events() {
  if (coding_ == http1::ContentCoding::identity) {
    const PaddedBuffer arrived = wire_->decoder.take_body();
    events_.feed(arrived.view());
    return !arrived.empty();
  }
  if (const Result<void> fed = feed_inflater(); !fed) return fed.error();
  if (!inflater_) return false;
  std::array<char, kPiece> piece;
  const std::size_t bytes = inflater_->take(piece);
  events_.feed(std::string_view(piece.data(), bytes));
  if (bytes == 0 && inflater_->failed()) return check_coding().error();
  return bytes > 0;
}

Task<Result<std::optional<http1::SseEvent>>> ClientResponse::next_event(TimePoint deadline) {
  wire_->stream->read_deadline(deadline);
  while (true) {
    std::optional<http1::SseEvent> event = events_.next();
    if (event) co_return event;
    if (events_.overflowed()) {
      broken_ = true;
      co_return Error("http.too_large",
                      fmt::format("an event of {} is larger than {} bytes", wire_->stream->peer(),
                                  pool_->options().limits.body_bytes));
    }
    const Result<bool> fed = feed_events();
    if (!fed) {
      broken_ = true;
      co_return fed.error();
    }
    if (*fed) continue;
    if (closed_) co_return explain(Error("http.closed", "the answer was closed"));
    if (wire_->decoder.done()) {
      const Result<void> whole = check_coding();
      if (!whole) co_return whole.error();
      co_return std::optional<http1::SseEvent>();
    }
    if (broken_) co_return Error("http.closed", "the connection ended within the answer");
    Result<Input> input = co_await pull();
    if (!input) co_return input.error();
  }
}

void ClientResponse::close() {
  closed_ = true;
  wire_->stream->close();
}

}  // namespace mcpx::http
