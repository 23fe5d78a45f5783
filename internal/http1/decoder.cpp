#include "http1/decoder.hpp"

#include <algorithm>

#include "http1/framer.hpp"
#include "http1/head_parser.hpp"
#include "http1/rules.hpp"
#include "http1/syntax.hpp"

namespace mcpx::http1 {
namespace {

// RFC 9112 section 3: at least 8000 bytes of request line have to be taken.
constexpr std::size_t kMaxTarget = 8 * 1024;
constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kMaxRequestLine = kMaxMethod + kMaxTarget + 16;
constexpr std::size_t kMaxStatusLine = 1024;
constexpr int kMaxInterim = 16;  // 1xx responses before the real one

constexpr const char* kUnsupported = "http.unsupported";

constexpr Framer::Terms kRequestTerms{
    "http.bad_request", "request", kMaxRequestLine, 400, 414, 431};
constexpr Framer::Terms kResponseTerms{
    "http.bad_response", "response", kMaxStatusLine, 502, 502, 502};

}  // namespace

struct RequestDecoder::Impl final : Framer {
  explicit Impl(const Limits& limits) : Framer(limits, kRequestTerms) {
    blank_lines_ = 4;
    head.fields.reserve(1024, 32);
  }

  void reset() {
    reset_framing();
    head.method.clear();
    head.target.clear();
    head.authority.clear();
    head.fields.clear();
    head.keep_alive = true;
    expects = false;
  }

  bool can_start(char c) const override { return is_token(c); }
  void on_head(std::string_view text, std::size_t first_line) override;
  bool take_target(std::string_view target);
  bool take_host(const Facts& facts, int version);

  RequestHead head;
  bool expects = false;
};

void RequestDecoder::Impl::on_head(std::string_view text, std::size_t first_line) {
  Head parsed;
  const HeadFault fault = read_request_head(text, field_limit(), parsed, head.fields);
  if (fault == HeadFault::too_many_fields) {
    return refuse(431, "http.too_large",
                  "request has more than " + std::to_string(field_limit()) + " header fields");
  }
  if (fault == HeadFault::version && names_another_version(text.substr(0, first_line))) {
    return refuse(505, kUnsupported, "only HTTP/1.1 and HTTP/1.0 are spoken here");
  }
  if (fault != HeadFault::none) return refuse_malformed(describe(fault));
  if (parsed.method.size() > kMaxMethod) return refuse(501, kUnsupported, "unknown method");
  if (parsed.target.size() > kMaxTarget) {
    return refuse(414, "http.too_large",
                  "request target is larger than " + std::to_string(kMaxTarget) + " bytes");
  }
  head.method = parsed.method;
  head.keep_alive = parsed.persistent();
  if (!take_host(parsed.facts, parsed.version) || !take_target(parsed.target)) return;

  const auto transfer = coding(parsed.facts);
  const auto length = parsed.content_length;
  if (transfer == Coding::unknown) {
    return refuse(501, kUnsupported, "Transfer-Encoding other than chunked");
  }
  if (transfer == Coding::stacked) {
    return refuse_malformed("Transfer-Encoding is empty or applied twice");
  }
  if (transfer == Coding::chunked && (length || parsed.version < 11)) {
    return refuse_malformed("Transfer-Encoding beside Content-Length or in HTTP/1.0");
  }
  if (parsed.version >= 11 && parsed.facts.expects_other) {
    head_done_ = true;
    return refuse(417, kUnsupported, "Expect other than 100-continue");
  }
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  expects = parsed.version >= 11 && parsed.facts.expects_continue;
  if (transfer == Coding::chunked) return begin_chunked();
  begin_fixed(length ? *length : 0);
}

bool RequestDecoder::Impl::take_host(const Facts& facts, int version) {
  if (facts.hosts > 1) {
    refuse_malformed("Host is given twice");
  } else if (facts.hosts == 0 && version >= 11) {
    refuse_malformed("Host is missing");
  } else if (!is_authority(facts.host)) {
    refuse_malformed("Host is not a host and port");
  } else {
    head.authority = facts.host;
    return true;
  }
  return false;
}

// Origin form stays as it is. Of an absolute form the authority replaces Host (RFC 9112 section
// 3.2.2). CONNECT's authority form and OPTIONS's asterisk ask for what is not served here.
bool RequestDecoder::Impl::take_target(std::string_view target) {
  if (target.find('#') != std::string_view::npos) {
    refuse_malformed("the target holds a fragment");
    return false;
  }
  if (target.front() == '/') {
    head.target = target;
    return true;
  }
  std::size_t scheme = 0;
  if (starts_with_ignoring_case(target, "http://")) scheme = 7;
  if (starts_with_ignoring_case(target, "https://")) scheme = 8;
  if (scheme == 0 || head.method == "CONNECT") {
    refuse_malformed("the target is neither a path nor an http URL");
    return false;
  }
  target.remove_prefix(scheme);
  const auto end = std::min(target.find_first_of("/?"), target.size());
  const auto authority = target.substr(0, end);
  if (authority.empty() || !is_authority(authority)) {
    refuse_malformed("the target's authority is not a host and port");
    return false;
  }
  head.authority = authority;
  target.remove_prefix(end);
  if (target.empty() || target.front() != '/') head.target = '/';
  head.target += target;
  return true;
}

RequestDecoder::RequestDecoder(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestDecoder::~RequestDecoder() = default;
void RequestDecoder::reset() {
  impl_->reset();
}
std::size_t RequestDecoder::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}
bool RequestDecoder::head_done() const {
  return impl_->head_done();
}
bool RequestDecoder::done() const {
  return impl_->done();
}
bool RequestDecoder::started() const {
  return impl_->started();
}
bool RequestDecoder::expects_continue() const {
  return impl_->expects && !impl_->body_started() && !impl_->done() && !impl_->refusal();
}
const Refusal* RequestDecoder::refusal() const {
  return impl_->refusal();
}
const RequestHead& RequestDecoder::head() const {
  return impl_->head;
}
PaddedBuffer RequestDecoder::take_body() {
  return impl_->take_body();
}

struct ResponseDecoder::Impl final : Framer {
  explicit Impl(const Limits& limits) : Framer(limits, kResponseTerms) {
    head.fields.reserve(1024, 32);
  }

  void reset() {
    reset_framing();
    clear_head();
    interim = 0;
  }
  void clear_head() {
    head.status = 0;
    head.reason.clear();
    head.fields.clear();
    head.keep_alive = true;
  }

  bool can_start(char c) const override { return c == 'H'; }
  void on_head(std::string_view text, std::size_t) override;
  void end_of_stream();

  ResponseHead head;
  int interim = 0;
};

void ResponseDecoder::Impl::on_head(std::string_view text, std::size_t) {
  clear_head();
  Head parsed;
  const HeadFault fault = read_response_head(text, field_limit(), parsed, head.fields);
  if (fault != HeadFault::none) return refuse_malformed(describe(fault));
  if (parsed.status < 100 || parsed.status > 599) {
    return refuse_malformed("status " + std::to_string(parsed.status));
  }
  if (parsed.status == 101) return refuse_malformed("status 101 without a request to upgrade");
  if (parsed.status < 200) {
    if (++interim > kMaxInterim) return refuse_malformed("too many interim responses");
    clear_head();
    return skip_head();
  }
  head.status = static_cast<unsigned>(parsed.status);
  head.reason = parsed.reason;
  head.keep_alive = parsed.persistent();
  if (head.status == 204 || head.status == 304) return begin_fixed(0);

  // An event stream is taken as it comes; any size of it may pass.
  const auto type = head.fields.find("content-type");
  refuse_announced_ = !type || !starts_with_ignoring_case(*type, "text/event-stream");
  const auto transfer = coding(parsed.facts);
  const auto length = parsed.content_length;
  if (transfer == Coding::unknown || transfer == Coding::stacked) {
    return refuse_malformed("Transfer-Encoding other than chunked");
  }
  if (transfer == Coding::chunked) {
    if (length) return refuse_malformed("Transfer-Encoding beside Content-Length");
    // HTTP/1.0 has no chunked coding: read it so, but trust the connection no further.
    if (parsed.version < 11) head.keep_alive = false;
    return begin_chunked();
  }
  if (length) return begin_fixed(*length);
  head.keep_alive = false;
  begin_until_close();
}

void ResponseDecoder::Impl::end_of_stream() {
  if (phase() == Phase::until_close) {
    finish();
  } else if (phase() != Phase::done && phase() != Phase::refused && started()) {
    refuse(502, "http.closed",
           head_done() ? "the peer closed in the middle of a response body"
                       : "the peer closed in the middle of a response head");
  }
}

ResponseDecoder::ResponseDecoder(const Limits& limits) : impl_(std::make_unique<Impl>(limits)) {}
ResponseDecoder::~ResponseDecoder() = default;
void ResponseDecoder::reset() {
  impl_->reset();
}
std::size_t ResponseDecoder::feed(std::string_view bytes) {
  return impl_->feed(bytes);
}
void ResponseDecoder::end_of_stream() {
  impl_->end_of_stream();
}
bool ResponseDecoder::head_done() const {
  return impl_->head_done();
}
bool ResponseDecoder::done() const {
  return impl_->done();
}
bool ResponseDecoder::started() const {
  return impl_->started();
}
const Refusal* ResponseDecoder::refusal() const {
  return impl_->refusal();
}
const ResponseHead& ResponseDecoder::head() const {
  return impl_->head;
}
PaddedBuffer ResponseDecoder::take_body() {
  return impl_->take_body();
}

}  // namespace mcpx::http1
