#include "http/client.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "http/wire.hpp"
#include "net/endpoint.hpp"

namespace mcpx::http {
namespace {

std::string bracketed(const std::string& host) {
  const bool bare_v6 = host.find(':') != std::string::npos && host.front() != '[';
  return bare_v6 ? "[" + host + "]" : host;
}

std::string host_header(const Origin& origin) {
  if (!origin.unix_path.empty()) return "localhost";
  std::string host = bracketed(origin.host);
  if (origin.port != (origin.tls ? 443 : 80)) host += ":" + std::to_string(origin.port);
  return host;
}

Error dial_error(const Error& cause, const Proxy* proxy) {
  std::string message = fmt::format("{} ({})", cause.message, cause.code);
  if (proxy) message = fmt::format("proxy {}: {}", proxy->name(), message);
  return Error("http.dial", std::move(message), cause.remedy);
}

}  // namespace

Pool::Pool(runtime::Shard& shard, Origin origin, const Client::Options& options)
    : shard_(shard),
      origin_(std::move(origin)),
      options_(options),
      tls_(options.tls),
      host_(host_header(origin_)),
      watchdog_(shard, [this] { prune(); }) {}

Task<Result<std::unique_ptr<Response>>> Pool::send(std::shared_ptr<Pool> self,
                                                   const Request& request) {
  std::unique_ptr<Wire> wire = self->take_idle();
  while (true) {
    if (self->closed_) co_return Error("http.closed", "the client was closed");
    if (request.cancel && request.cancel->cancelled()) {
      co_return Error("http.cancelled", request.cancel->reason());
    }
    const bool reused = wire != nullptr;
    if (!reused) {
      Result<std::unique_ptr<Wire>> dialled = co_await self->dial(request);
      if (!dialled) co_return dialled.error();
      wire = std::move(*dialled);
    }
    auto exchange = std::make_unique<ClientResponse>(self, std::move(wire), request);
    Result<void> started = co_await exchange->start(request);
    if (started) co_return std::unique_ptr<Response>(std::move(exchange));
    // Once more on a fresh connection, but only what the server cannot have read whole: it may be
    // in the middle of a call that must not happen twice.
    if (!reused || !exchange->may_retry()) co_return started.error();
    wire.reset();
  }
}

Task<Result<std::unique_ptr<Wire>>> Pool::dial(const Request& request) {
  const TimePoint deadline = std::min(request.deadline, Clock::now() + options_.connect_timeout);
  runtime::CancelSource cancel;
  runtime::CancelSource::Subscription forwarded;
  if (request.cancel) {
    forwarded = request.cancel->subscribe([&](const std::string& why) { cancel.cancel(why); });
  }
  dials_.push_back(&cancel);
  Result<std::unique_ptr<net::ByteStream>> stream = co_await connect(deadline, cancel);
  std::erase(dials_, &cancel);
  if (request.cancel && request.cancel->cancelled()) {
    co_return Error("http.cancelled", request.cancel->reason());
  }
  if (!stream) co_return stream.error();
  co_return std::make_unique<Wire>(std::move(*stream), options_.limits);
}

Task<Result<std::unique_ptr<net::ByteStream>>> Pool::connect(TimePoint deadline,
                                                             runtime::CancelSource& cancel) {
  Result<std::unique_ptr<net::ByteStream>> stream = Error();
  if (!origin_.unix_path.empty()) {
    stream = co_await net::dial_unix(shard_, origin_.unix_path, deadline);
    if (!stream) co_return dial_error(stream.error(), nullptr);
    co_return stream;
  }
  const Proxy* proxy = options_.proxy ? &*options_.proxy : nullptr;
  const std::string& host = proxy ? proxy->host : origin_.host;
  const std::uint16_t port = proxy ? proxy->port : origin_.port;
  stream = co_await net::dial_tcp(shard_, host, port, deadline, &cancel);
  if (!stream) co_return dial_error(stream.error(), proxy);
  if (!origin_.tls) co_return stream;
  if (proxy) {
    const std::string authority = bracketed(origin_.host) + ":" + std::to_string(origin_.port);
    Result<void> open = co_await open_tunnel(**stream, *proxy, authority, deadline, cancel);
    if (!open) co_return open.error();
  }
  co_return co_await secure(std::move(*stream), deadline, cancel);
}

Task<Result<std::unique_ptr<net::ByteStream>>> Pool::secure(std::unique_ptr<net::ByteStream> stream,
                                                            TimePoint deadline,
                                                            runtime::CancelSource& cancel) {
  if (!tls_) {
    Result<std::shared_ptr<const net::TlsContext>> made = net::TlsContext::make(net::TlsOptions());
    if (!made) co_return Error("http.tls", made.error().message, made.error().remedy);
    tls_ = std::move(*made);
  }
  Result<std::unique_ptr<net::ByteStream>> secured =
      co_await net::start_tls(std::move(stream), tls_, origin_.host, deadline, &cancel);
  if (secured) co_return secured;
  const Error& cause = secured.error();
  if (cause.code == "net.tls") co_return Error("http.tls", cause.message, cause.remedy);
  co_return dial_error(cause, nullptr);
}

// The one used last that its server has not closed meanwhile.
std::unique_ptr<Wire> Pool::take_idle() {
  std::unique_ptr<Wire> wire;
  const TimePoint now = Clock::now();
  while (!idle_.empty()) {
    wire = std::move(idle_.back());
    idle_.pop_back();
    if (wire->stream->quiet(now - wire->idle_since)) return wire;
  }
  return nullptr;
}

void Pool::give_back(std::unique_ptr<Wire> wire) {
  if (closed_ || idle_.size() >= options_.idle_connections) return;
  wire->decoder.reset();
  wire->stream->read_deadline(kNever);
  wire->stream->write_deadline(kNever);
  wire->idle_since = Clock::now();
  idle_.push_back(std::move(wire));
  if (watchdog_.deadline() == kNever) {
    watchdog_.set(idle_.back()->idle_since + options_.idle_timeout);
  }
}

// The one used longest ago is at the front.
void Pool::prune() {
  const TimePoint oldest = Clock::now() - options_.idle_timeout;
  const auto fresh = std::find_if(idle_.begin(), idle_.end(),
                                  [&](const auto& wire) { return wire->idle_since > oldest; });
  idle_.erase(idle_.begin(), fresh);
  if (!idle_.empty()) watchdog_.set(idle_.front()->idle_since + options_.idle_timeout);
}

void Pool::enter(ClientResponse& exchange) {
  exchange.next_ = first_;
  if (first_) first_->previous_ = &exchange;
  first_ = &exchange;
}

void Pool::leave(ClientResponse& exchange) {
  if (exchange.next_) exchange.next_->previous_ = exchange.previous_;
  if (exchange.previous_) {
    exchange.previous_->next_ = exchange.next_;
  } else {
    first_ = exchange.next_;
  }
}

void Pool::close() {
  closed_ = true;
  idle_.clear();
  watchdog_.clear();
  for (runtime::CancelSource* dial : dials_)
    dial->cancel("the client was closed");
  for (ClientResponse* exchange = first_; exchange; exchange = exchange->next_)
    exchange->close();
}

struct Client::Impl {
  std::shared_ptr<Pool> pool;
};

Client::Client(runtime::Shard& shard, Origin origin, const Options& options)
    : impl_(std::make_shared<Impl>()) {
  impl_->pool = std::make_shared<Pool>(shard, std::move(origin), options);
}
Client::~Client() {
  close();
}

Task<Result<std::unique_ptr<Response>>> Client::send(const Request& request) {
  return Pool::send(impl_->pool, request);
}
void Client::close() {
  impl_->pool->close();
}

}  // namespace mcpx::http
