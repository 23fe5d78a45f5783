#include "http1/decoder.hpp"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

#include "http1/framer.hpp"
#include "http1/rules.hpp"
#include "http1/syntax.hpp"

namespace mcpx::http1 {
namespace {

namespace beast = boost::beast;

// RFC 9112 section 3: at least 8000 bytes of request line have to be taken.
constexpr std::size_t kMaxTarget = 8 * 1024;
constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kMaxRequestLine = kMaxMethod + kMaxTarget + 16;
constexpr std::size_t kMaxStatusLine = 1024;
constexpr int kMaxInterim = 16;  // 1xx responses before the real one

constexpr const char* kUnsupported = "http.unsupported";

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

// Beast's grammar of a head, fed one complete head; the body is framed by Framer, hence skip().
// It writes straight into our arena: no Beast fields container, no allocation of its own.
template <bool is_request>
class HeadParser final : public beast::http::basic_parser<is_request> {
 public:
  HeadParser(Fields& fields, std::size_t most) : fields_(fields), most_(most) {
    this->skip(true);
    this->header_limit(std::numeric_limits<std::uint32_t>::max());  // HeadScanner's duty
    this->body_limit(boost::none);
  }

  Facts facts;
  std::string_view method, target, reason;
  int version = 0;
  int status = 0;
  bool too_many_fields = false;

 private:
  using Error = beast::error_code;

  void on_request_impl(beast::http::verb, beast::string_view method_text,
                       beast::string_view target_text, int number, Error&) override {
    method = view(method_text);
    target = view(target_text);
    version = number;
  }
  void on_response_impl(int code, beast::string_view text, int number, Error&) override {
    status = code;
    reason = view(text);
    version = number;
  }
  void on_field_impl(beast::http::field field, beast::string_view name, beast::string_view value,
                     Error& error) override {
    if (fields_.size() == most_) {
      too_many_fields = true;
      error = beast::http::error::header_limit;
      return;
    }
    fields_.add(view(name), view(value));
    switch (field) {
      case beast::http::field::host:
        ++facts.hosts;
        facts.host = view(value);
        break;
      case beast::http::field::transfer_encoding:
        ++facts.encodings;
        facts.encoding = view(value);
        break;
      case beast::http::field::expect:
        if (equals_ignoring_case(view(value), "100-continue")) {
          facts.expects_continue = true;
        } else {
          facts.expects_other = true;
        }
        break;
      default:
        break;
    }
  }
  void on_header_impl(Error&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  std::size_t on_body_impl(beast::string_view body, Error&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, Error&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view body, Error&) override {
    return body.size();
  }
  void on_finish_impl(Error&) override {}

  Fields& fields_;
  const std::size_t most_;
};

// Beast's error for a head, or empty when all of `text` was one.
template <class Parser>
beast::error_code parse(Parser& parser, std::string_view text) {
  beast::error_code error;
  const std::size_t used = parser.put(beast::net::const_buffer(text.data(), text.size()), error);
  // HeadScanner saw a complete head, so whoever asks for more, or less, read it differently.
  if (!error && (used != text.size() || !parser.is_done())) error = beast::http::error::bad_field;
  return error;
}

std::string_view why(const beast::error_code& error) {
  using E = beast::http::error;
  if (error == E::bad_method) return "the method is not a token";
  if (error == E::bad_target) return "the target is empty or holds a space or control character";
  if (error == E::bad_version || error == E::need_more) return "the version is not HTTP/1.1";
  if (error == E::bad_status) return "the status is not a number";
  if (error == E::bad_field) return "a header name is not a token";
  if (error == E::bad_value) return "a header value holds a control character";
  if (error == E::bad_line_ending) return "a line does not end in CR LF";
  if (error == E::bad_content_length) return "Content-Length is not one number";
  if (error == E::multiple_content_length) return "Content-Length is given twice, differently";
  if (error == E::bad_transfer_encoding) return "Transfer-Encoding conflicts with another header";
  return "the head cannot be read";
}

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
  HeadParser<true> parser(head.fields, field_limit());
  if (const auto error = parse(parser, text)) {
    if (parser.too_many_fields) {
      return refuse(431, "http.too_large",
                    "request has more than " + std::to_string(field_limit()) + " header fields");
    }
    if (error == beast::http::error::bad_version &&
        names_another_version(text.substr(0, first_line))) {
      return refuse(505, kUnsupported, "only HTTP/1.1 and HTTP/1.0 are spoken here");
    }
    return refuse_malformed(why(error));
  }
  if (parser.method.size() > kMaxMethod) return refuse(501, kUnsupported, "unknown method");
  if (parser.target.size() > kMaxTarget) {
    return refuse(414, "http.too_large",
                  "request target is larger than " + std::to_string(kMaxTarget) + " bytes");
  }
  head.method = parser.method;
  head.keep_alive = parser.keep_alive();
  if (!take_host(parser.facts, parser.version) || !take_target(parser.target)) return;

  const auto transfer = coding(parser.facts);
  const auto length = parser.content_length();
  if (transfer == Coding::unknown) {
    return refuse(501, kUnsupported, "Transfer-Encoding other than chunked");
  }
  if (transfer == Coding::stacked) {
    return refuse_malformed("Transfer-Encoding is empty or applied twice");
  }
  if (transfer == Coding::chunked && (length || parser.version < 11)) {
    return refuse_malformed("Transfer-Encoding beside Content-Length or in HTTP/1.0");
  }
  if (parser.version >= 11 && parser.facts.expects_other) {
    head_done_ = true;
    return refuse(417, kUnsupported, "Expect other than 100-continue");
  }
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  expects = parser.version >= 11 && parser.facts.expects_continue;
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
  void on_head(std::string_view text, std::size_t first_line) override;
  void end_of_stream();

  ResponseHead head;
  std::string patched;  // a head whose status line lacked its last space
  int interim = 0;
};

void ResponseDecoder::Impl::on_head(std::string_view text, std::size_t first_line) {
  // RFC 9112 section 4 wants a space after the status even without a reason; many servers forget
  // it.
  constexpr std::size_t kBareStatusLine = std::string_view("HTTP/1.1 200").size();
  if (first_line == kBareStatusLine) {
    patched.assign(text.substr(0, first_line)).append(" ").append(text.substr(first_line));
    text = patched;
  }
  clear_head();
  HeadParser<false> parser(head.fields, field_limit());
  if (const auto error = parse(parser, text)) return refuse_malformed(why(error));
  if (parser.status < 100 || parser.status > 599) {
    return refuse_malformed("status " + std::to_string(parser.status));
  }
  if (parser.status == 101) return refuse_malformed("status 101 without a request to upgrade");
  if (parser.status < 200) {
    if (++interim > kMaxInterim) return refuse_malformed("too many interim responses");
    clear_head();
    return skip_head();
  }
  head.status = static_cast<unsigned>(parser.status);
  head.reason = parser.reason;
  head.keep_alive = parser.keep_alive();
  if (head.status == 204 || head.status == 304) return begin_fixed(0);

  // An event stream is taken as it comes; any size of it may pass.
  const auto type = head.fields.find("content-type");
  refuse_announced_ = !type || !starts_with_ignoring_case(*type, "text/event-stream");
  const auto transfer = coding(parser.facts);
  const auto length = parser.content_length();
  if (transfer == Coding::unknown || transfer == Coding::stacked) {
    return refuse_malformed("Transfer-Encoding other than chunked");
  }
  if (transfer == Coding::chunked) {
    if (length) return refuse_malformed("Transfer-Encoding beside Content-Length");
    // HTTP/1.0 has no chunked coding: read it so, but trust the connection no further.
    if (parser.version < 11) head.keep_alive = false;
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
