// Wire: one client connection with its decoder and buffers; Pool: those of one Client.
// Internal to the room. Thread: the Client's shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.hpp"
#include "http1/content_coding.hpp"
#include "net/stream.hpp"
#include "runtime/timer.hpp"

namespace mcpx::http {

struct Wire {
  Wire(std::unique_ptr<net::ByteStream> stream_in, const http1::Limits& limits)
      : stream(std::move(stream_in)), decoder(limits) {}

  std::unique_ptr<net::ByteStream> stream;
  http1::ResponseDecoder decoder;
  std::unique_ptr<char[]> buffer;
  std::size_t buffer_size = 0;
  std::string text;
  std::vector<std::string_view> parts;
  TimePoint idle_since;
  bool surplus = false;  // bytes came after the end of a message: not to be used again
};

class ClientResponse;

// Shared by the Client and its exchanges, which may outlive it.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(runtime::Shard& shard, Origin origin, const Client::Options& options);

  static Task<Result<std::unique_ptr<Response>>> send(std::shared_ptr<Pool> self,
                                                      const Request& request);
  void close();

  const Client::Options& options() const { return options_; }
  std::string_view host() const { return host_; }
  // The proxy that reads our requests, which are then spelled for it; null when there is none or
  // it only passes bytes on.
  const Proxy* forwarder() const {
    return options_.proxy && !origin_.tls && origin_.unix_path.empty() ? &*options_.proxy : nullptr;
  }
  void enter(ClientResponse& exchange);
  void leave(ClientResponse& exchange);
  void give_back(std::unique_ptr<Wire> wire);

 private:
  std::unique_ptr<Wire> take_idle();
  Task<Result<std::unique_ptr<Wire>>> dial(const Request& request);
  Task<Result<std::unique_ptr<net::ByteStream>>> connect(TimePoint deadline,
                                                         runtime::CancelSource& cancel);
  Task<Result<std::unique_ptr<net::ByteStream>>> secure(std::unique_ptr<net::ByteStream> stream,
                                                        TimePoint deadline,
                                                        runtime::CancelSource& cancel);
  void prune();

  runtime::Shard& shard_;
  const Origin origin_;
  const Client::Options options_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::string host_;                         // the Host header
  std::vector<std::unique_ptr<Wire>> idle_;  // the one used last is at the back
  std::vector<runtime::CancelSource*> dials_;
  ClientResponse* first_ = nullptr;  // exchanges in progress, a list through them
  runtime::Watchdog watchdog_;       // closes what is idle for too long
  bool closed_ = false;
};

class ClientResponse final : public Response {
 public:
  ClientResponse(std::shared_ptr<Pool> pool, std::unique_ptr<Wire> wire, const Request& request);
  ~ClientResponse() override;

  // Writes the request and reads the answer's head.
  Task<Result<void>> start(const Request& request);
  // The connection broke before all of the request was sent: with another one it may work.
  bool may_retry() const;

  const http1::ResponseHead& head() const override { return wire_->decoder.head(); }
  std::optional<PaddedBuffer> body_at_hand() override;
  Task<Result<PaddedBuffer>> body() override;
  Task<Result<std::optional<http1::SseEvent>>> next_event(TimePoint deadline) override;
  void close() override;
  void forget_cancel() override { subscription_ = runtime::CancelSource::Subscription(); }

 private:
  friend class Pool;
  enum class Input { more, ended };

  void compose(const Request& request);  // into the parts to be written
  void append_forwarded_head(const Proxy& proxy, const Request& request, std::size_t length);
  Task<Result<Input>> pull();  // reads once and feeds the decoder
  std::span<char> room();
  Result<Input> take_in(const Result<std::size_t>& bytes);
  Task<Result<PaddedBuffer>> decoded_body();
  // What arrived of the body, without its content coding, at the end of `out`.
  Result<void> unpack(PaddedBuffer& out);
  // The same for events_, a piece at a time; false when nothing was there.
  Result<bool> feed_events();
  Result<void> feed_inflater();
  Result<void> check_coding() const;  // once the body is there: was it all of it?
  Error explain(const Error& error) const;

  std::shared_ptr<Pool> pool_;
  std::unique_ptr<Wire> wire_;
  runtime::CancelSource::Subscription subscription_;
  http1::SseParser events_;
  http1::ContentCoding coding_ = http1::ContentCoding::identity;
  std::unique_ptr<http1::Inflater> inflater_;  // for gzip and deflate
  std::string method_;
  ClientResponse* next_ = nullptr;
  ClientResponse* previous_ = nullptr;
  bool cancelled_ = false;
  bool closed_ = false;
  bool broken_ = false;  // not to be used again
  bool lost_ = false;    // the server ended it
  bool sent_ = false;    // all of the request
};

}  // namespace mcpx::http
