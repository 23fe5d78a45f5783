// The ByteStream around a TlsEngine.
//
// The reader never writes: what the engine has to say while it reads (an answer to a key update)
// goes out before the next data, which is all that RFC 8446 section 4.6.3 asks. The writer reads
// only when the peer has begun a message about the session and not finished it; whoever of the two
// gets there first reads from the stream inside, and the other waits for what arrives.
#include <fmt/core.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "net/address.hpp"
#include "net/tls.hpp"
#include "net/tls_context.hpp"
#include "net/tls_engine.hpp"
#include "net/tls_errors.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::net {
namespace {

constexpr std::size_t kReadSize = 16 * 1024 + 512;  // a record and what surrounds it
constexpr std::size_t kFirstRead = 2 * 1024;        // a ClientHello mostly fits
constexpr std::size_t kWriteSize = 64 * 1024;       // sealed at once
// What may wait for our next write. Nothing but a flood of key updates gets there.
constexpr std::size_t kMaxWaiting = 4 * kWriteSize;

// Takes a list of parts in pieces of one record, gathering small ones.
class Plaintext {
 public:
  explicit Plaintext(std::span<const std::string_view> parts) : parts_(parts) { skip_empty(); }
  bool done() const { return parts_.empty(); }

  // Valid until the next call.
  std::string_view next() {
    if (left_.size() >= TlsEngine::kLargestWrite || parts_.size() == 1) {
      return take(TlsEngine::kLargestWrite);
    }
    gathered_.clear();
    while (!done() && gathered_.size() < TlsEngine::kLargestWrite) {
      gathered_ += take(TlsEngine::kLargestWrite - gathered_.size());
    }
    return gathered_;
  }

 private:
  std::string_view take(std::size_t limit) {
    const std::string_view piece = left_.substr(0, limit);
    left_.remove_prefix(piece.size());
    if (left_.empty()) {
      parts_ = parts_.subspan(1);
      skip_empty();
    }
    return piece;
  }
  void skip_empty() {
    while (!parts_.empty() && parts_.front().empty())
      parts_ = parts_.subspan(1);
    if (!parts_.empty()) left_ = parts_.front();
  }

  std::span<const std::string_view> parts_;
  std::string_view left_;  // of the first part
  std::string gathered_;
};

class TlsStream final : public ByteStream {
 public:
  TlsStream(std::unique_ptr<ByteStream> inner, std::shared_ptr<const TlsContext> context, SSL* ssl,
            std::string host)
      : inner_(std::move(inner)),
        context_(std::move(context)),
        engine_(ssl),
        host_(std::move(host)) {
    SSL_set_app_data(ssl, &verdict_);
  }
  ~TlsStream() override { close(); }

  Task<Result<void>> handshake();
  void arrived_already(std::string_view bytes) { engine_.feed(bytes); }

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Result<void>> write(std::span<const std::string_view> parts) override;

  void read_deadline(TimePoint when) override {
    read_ = Direction();
    read_.deadline = when;
    watch();
  }
  void write_deadline(TimePoint when) override {
    write_ = Direction();
    write_.deadline = when;
    inner_->write_deadline(when);
    if (starved_writer_) watch();
  }

  bool quiet(Duration idle) const override { return !closed_ && inner_->quiet(idle); }

  void shutdown_send() override {
    if (closed_) return;
    say_goodbye();
    inner_->shutdown_send();
  }
  void close() override {
    if (closed_) return;
    say_goodbye();
    closed_ = true;
    inner_->close();
  }
  std::string peer() const override { return inner_->peer(); }

 private:
  using Step = TlsEngine::Step;
  struct Direction {
    TimePoint deadline = kNever;
    bool expired = false;
  };

  Task<Result<void>> take_in(const Direction& own);
  Task<Result<void>> seal(std::string_view plain);
  Task<Result<void>> flush();

  // The stream inside has one deadline for reads; a writer that has to read brings its own.
  void watch() {
    TimePoint next = read_.expired ? kNever : read_.deadline;
    if (starved_writer_ && !write_.expired) next = std::min(next, write_.deadline);
    inner_->read_deadline(next);
  }
  void note_expired() {
    const TimePoint now = Clock::now();
    if (read_.deadline <= now) read_.expired = true;
    if (starved_writer_ && write_.deadline <= now) write_.expired = true;
    watch();
  }

  // The end of our side, or why there is one, as far as it goes without waiting.
  void say_goodbye() {
    if (ready_ && !send_ended_ && !failed_) engine_.end();
    if (!send_ended_) send_rest();
    send_ended_ = true;
  }
  void send_rest() {
    if (writing_) return;  // it would get between the halves of a record
    engine_.take_output(outgoing_);
    const std::string_view parts[] = {outgoing_};
    if (!outgoing_.empty()) inner_->try_write(parts);
  }

  Error fail() {
    if (!failed_) {
      failed_ = tls_error(host_, engine_.failure(), verdict_, context_->impl());
      send_rest();  // the alert that tells the peer why
    }
    return *failed_;
  }
  Error is_closed() const { return Error("net.closed", fmt::format("{}: closed here", peer())); }
  Error read_timed_out() const {
    return Error("net.timeout", fmt::format("nothing arrived from {} in time", peer()));
  }
  Error truncated() const {
    return Error("net.reset", fmt::format("{} ended the connection without ending TLS", peer()));
  }

  std::unique_ptr<ByteStream> inner_;
  std::shared_ptr<const TlsContext> context_;
  Verdict verdict_;
  TlsEngine engine_;
  std::string host_;
  std::unique_ptr<char[]> buffer_;
  std::string outgoing_;
  Direction read_, write_;
  std::optional<Error> failed_;
  runtime::Waiter arrived_;  // whoever waits for the other one's read
  bool ready_ = false;       // the handshake is done
  bool reading_ = false;     // somebody reads from inner_
  bool writing_ = false;     // somebody writes to inner_
  bool starved_writer_ = false;
  bool input_ended_ = false;
  bool send_ended_ = false;
  bool closed_ = false;
};

Task<Result<void>> TlsStream::handshake() {
  while (!closed_) {
    const Step step = engine_.handshake();
    if (step == Step::failed) co_return fail();
    Result<void> sent = co_await flush();
    if (!sent) co_return sent.error();
    if (step == Step::done) {
      ready_ = true;
      co_return Result<void>();
    }
    if (input_ended_) co_return truncated();
    Result<void> more = co_await take_in(read_);
    if (!more) co_return more.error();
  }
  co_return is_closed();
}

Task<Result<std::size_t>> TlsStream::read_some(std::span<char> into) {
  while (!closed_) {
    if (read_.expired) co_return read_timed_out();
    if (failed_) co_return *failed_;
    std::size_t bytes = 0;
    const Step step = engine_.read(into, bytes);
    if (step == Step::done) co_return bytes;
    if (step == Step::ended) co_return std::size_t(0);
    if (step == Step::failed) co_return fail();
    if (input_ended_) co_return truncated();
    if (engine_.output_size() > kMaxWaiting) {
      co_return Error("net.tls", fmt::format("TLS with {}: too many key updates", host_));
    }
    Result<void> more = co_await take_in(read_);
    if (!more) co_return more.error();
  }
  co_return is_closed();
}

// More input for the engine, or the news that there is none; the caller asks the engine again.
Task<Result<void>> TlsStream::take_in(const Direction& own) {
  if (reading_) {
    co_await arrived_.wait();
    co_return Result<void>();
  }
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kReadSize);
  const std::span<char> room(buffer_.get(), kReadSize);
  reading_ = true;
  Result<std::size_t> bytes = co_await inner_->read_some(room);
  reading_ = false;
  if (bytes) {
    engine_.feed(std::string_view(buffer_.get(), *bytes));
    input_ended_ = *bytes == 0;
  } else if (bytes.error().code == "net.timeout") {
    note_expired();
  }
  if (starved_writer_) arrived_.wake();
  if (!bytes && (own.expired || bytes.error().code != "net.timeout")) co_return bytes.error();
  co_return Result<void>();
}

Task<Result<void>> TlsStream::write(std::span<const std::string_view> parts) {
  Plaintext rest(parts);
  while (!rest.done()) {
    const std::string_view plain = rest.next();
    Result<void> sealed = co_await seal(plain);
    if (!sealed) co_return sealed.error();
    if (!rest.done() && engine_.output_size() < kWriteSize) continue;
    Result<void> sent = co_await flush();
    if (!sent) co_return sent.error();
  }
  co_return Result<void>();
}

Task<Result<void>> TlsStream::seal(std::string_view plain) {
  while (!closed_) {
    if (failed_) co_return *failed_;
    if (send_ended_) {
      co_return Error("net.closed", fmt::format("{}: our side has ended", peer()));
    }
    const Step step = engine_.write(plain);
    if (step == Step::done) co_return Result<void>();
    if (step != Step::starved) co_return fail();
    if (input_ended_) co_return truncated();
    starved_writer_ = true;
    watch();
    Result<void> more = co_await take_in(write_);
    starved_writer_ = false;
    watch();
    if (more && !write_.expired) continue;
    send_ended_ = true;  // the engine wants these bytes again and will not get them
    if (!more) co_return more.error();
    co_return Error("net.timeout", fmt::format("nothing is read by {} in time", peer()));
  }
  co_return is_closed();
}

Task<Result<void>> TlsStream::flush() {
  while (engine_.output_size() > 0) {
    if (closed_) co_return is_closed();
    engine_.take_output(outgoing_);
    writing_ = true;
    Result<void> sent = co_await write_all(*inner_, outgoing_);
    writing_ = false;
    if (!sent) {
      send_ended_ = true;
      co_return sent.error();
    }
  }
  co_return Result<void>();
}

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Ssl = std::unique_ptr<SSL, FreeSsl>;

// A connection that accepts nothing but a certificate for `host`; null when `host` cannot be one.
Ssl new_ssl(const TlsContext& context, const std::string& host) {
  Ssl ssl(SSL_new(context.impl().context.get()));
  if (!ssl || host.empty() || host.find('\0') != std::string::npos) return nullptr;
  SSL_set_connect_state(ssl.get());
  if (parse_ip(host, 0)) {
    // RFC 6066 section 3: no literal addresses in SNI.
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1
               ? std::move(ssl)
               : nullptr;
  }
  // RFC 9525 sections 2 and 6.3: names are subjectAltNames only, wildcards whole labels.
  SSL_set_hostflags(ssl.get(),
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool named = SSL_set1_host(ssl.get(), host.c_str()) == 1 &&
                     SSL_set_tlsext_host_name(ssl.get(), host.c_str()) == 1;
  return named ? std::move(ssl) : nullptr;
}

// As certificates spell it: no brackets, no dot of the root.
std::string certificate_name(std::string host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  if (!host.empty() && host.back() == '.') host.pop_back();
  return host;
}

Error handshake_error(const std::string& host, const Error& error) {
  const std::string what = "TLS with " + host;
  if (error.code == "net.timeout") {
    return Error("net.timeout", fmt::format("{}: the handshake was not done in time", what),
                 "check that the port in url speaks TLS");
  }
  if (error.code == "net.reset") {
    return Error("net.tls", fmt::format("{}: the server broke off in the handshake", what),
                 "check that the port in url speaks TLS; see the log of the server");
  }
  return error;
}

}  // namespace

Task<Result<std::unique_ptr<ByteStream>>> start_tls(std::unique_ptr<ByteStream> stream,
                                                    std::shared_ptr<const TlsContext> context,
                                                    std::string host, TimePoint deadline,
                                                    runtime::CancelSource* cancel) {
  const std::string name = certificate_name(std::move(host));
  Ssl ssl = new_ssl(*context, name);
  if (!ssl) {
    co_return Error("net.tls", fmt::format("{:?} is no host that a certificate can be for", name),
                    "check the host in url");
  }
  auto tls =
      std::make_unique<TlsStream>(std::move(stream), std::move(context), ssl.release(), name);
  tls->read_deadline(deadline);
  tls->write_deadline(deadline);
  runtime::CancelSource::Subscription subscription;
  if (cancel) {
    subscription = cancel->subscribe([&](const std::string&) { tls->close(); });
  }
  Result<void> shaken = co_await tls->handshake();
  if (!shaken) co_return handshake_error(name, shaken.error());
  tls->read_deadline(kNever);
  tls->write_deadline(kNever);
  co_return std::unique_ptr<ByteStream>(std::move(tls));
}

Task<Result<AcceptedTls>> accept_tls(std::unique_ptr<ByteStream> stream,
                                     std::shared_ptr<const TlsContext> context, TimePoint deadline,
                                     runtime::CancelSource* cancel) {
  // RFC 8446 section 5.1: whatever speaks TLS begins with a record of this type.
  constexpr char kHandshakeRecord = 22;
  ByteStream* inside = stream.get();
  runtime::CancelSource::Subscription subscription;
  if (cancel) subscription = cancel->subscribe([inside](const std::string&) { inside->close(); });
  stream->read_deadline(deadline);
  const std::string peer = stream->peer();
  std::array<char, kFirstRead> first;
  Result<std::size_t> bytes = co_await stream->read_some(first);
  if (!bytes) co_return bytes.error();
  if (*bytes == 0) co_return Error("net.closed", fmt::format("{}: left without a word", peer));
  if (first[0] != kHandshakeRecord) co_return AcceptedTls(std::move(stream), false);
  Ssl ssl(SSL_new(context->impl().context.get()));
  if (!ssl) co_return Error("net.tls", "no memory for a TLS connection");
  SSL_set_accept_state(ssl.get());
  auto tls =
      std::make_unique<TlsStream>(std::move(stream), std::move(context), ssl.release(), peer);
  tls->arrived_already(std::string_view(first.data(), *bytes));
  tls->read_deadline(deadline);
  tls->write_deadline(deadline);
  Result<void> shaken = co_await tls->handshake();
  if (!shaken) co_return shaken.error();
  tls->read_deadline(kNever);
  tls->write_deadline(kNever);
  co_return AcceptedTls(std::move(tls), true);
}

}  // namespace mcpx::net
