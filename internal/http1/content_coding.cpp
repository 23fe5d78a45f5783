#include "http1/content_coding.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "http1/rules.hpp"

namespace mcpx::http1 {
namespace {

constexpr std::size_t kMaxText = 64;
constexpr int kRaw = -MAX_WBITS;       // deflate without anything around it
constexpr int kZlib = MAX_WBITS;       // what RFC 9110 means by "deflate"
constexpr int kGzip = MAX_WBITS + 16;  // as zlib.h spells it

ContentCoding by_name(std::string_view name) {
  // RFC 9110 section 8.4.1.3: x-gzip means gzip.
  if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
    return ContentCoding::gzip;
  }
  return equals_ignoring_case(name, "deflate") ? ContentCoding::deflate : ContentCoding::unknown;
}

bool is_encoding_field(const Fields& fields, std::size_t i) {
  return equals_ignoring_case(fields.name_at(i), "content-encoding");
}

}  // namespace

ContentCoding content_coding(const Fields& fields) {
  ContentCoding coding = ContentCoding::identity;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!is_encoding_field(fields, i)) continue;
    std::string_view rest = fields.value_at(i);
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view name = trimmed(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (name.empty() || equals_ignoring_case(name, "identity")) continue;
      if (coding != ContentCoding::identity) return ContentCoding::unknown;
      coding = by_name(name);
    }
  }
  return coding;
}

std::string content_coding_text(const Fields& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size() && text.size() < kMaxText; ++i) {
    if (!is_encoding_field(fields, i)) continue;
    if (!text.empty()) text += ", ";
    text += fields.value_at(i).substr(0, kMaxText);
  }
  text.resize(std::min(text.size(), kMaxText));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

struct Inflater::Impl {
  enum class State : std::uint8_t { start, within, between, failed };

  explicit Impl(ContentCoding coding_in) : coding(coding_in) {}
  ~Impl() {
    if (open) inflateEnd(&stream);
  }

  std::string_view rest() const { return std::string_view(input).substr(at); }
  bool begin();
  bool next_stream();

  const ContentCoding coding;
  z_stream stream = {};
  std::string input;
  std::size_t at = 0;  // of input, decoded up to here
  State state = State::start;
  bool open = false;
};

// Chooses the form once enough is there to tell; false: not yet.
bool Inflater::Impl::begin() {
  int form = kGzip;
  if (coding == ContentCoding::deflate) {
    // Some servers send deflate without the zlib head that the name stands for. No deflate data
    // begins like such a head, except with padding that no encoder writes.
    if (rest().size() < 2) return false;
    const unsigned first = static_cast<unsigned char>(rest()[0]);
    const unsigned second = static_cast<unsigned char>(rest()[1]);
    form = (first & 15U) == Z_DEFLATED && (first * 256 + second) % 31 == 0 ? kZlib : kRaw;
  }
  if (rest().empty()) return false;
  const int outcome = open ? inflateReset2(&stream, form) : inflateInit2(&stream, form);
  MCPX_CHECK(outcome == Z_OK);  // memory and versions only
  open = true;
  state = State::within;
  return true;
}

// RFC 1952 section 2.2: gzip streams may follow one another. Nothing else may.
bool Inflater::Impl::next_stream() {
  if (rest().empty()) return false;
  if (coding != ContentCoding::gzip) {
    state = State::failed;
    return false;
  }
  return begin();
}

Inflater::Inflater(ContentCoding coding) : impl_(std::make_unique<Impl>(coding)) {
  MCPX_CHECK(coding == ContentCoding::gzip || coding == ContentCoding::deflate);
}
Inflater::~Inflater() = default;

void Inflater::feed(std::string_view bytes) {
  impl_->input.erase(0, impl_->at);
  impl_->at = 0;
  impl_->input += bytes;
}

std::size_t Inflater::take(std::span<char> into) {
  Impl& impl = *impl_;
  std::size_t filled = 0;
  while (filled < into.size() && impl.state != Impl::State::failed) {
    if (impl.state == Impl::State::start && !impl.begin()) break;
    if (impl.state == Impl::State::between && !impl.next_stream()) break;
    constexpr std::size_t kAtOnce = std::numeric_limits<uInt>::max();
    const std::size_t offered = std::min(impl.rest().size(), kAtOnce);
    const std::size_t room = std::min(into.size() - filled, kAtOnce);
    // zlib only reads from next_in; it says const where its header is told to.
    impl.stream.next_in = reinterpret_cast<Bytef*>(impl.input.data() + impl.at);
    impl.stream.avail_in = static_cast<uInt>(offered);
    impl.stream.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
    impl.stream.avail_out = static_cast<uInt>(room);
    const int outcome = inflate(&impl.stream, Z_NO_FLUSH);
    const std::size_t used = offered - impl.stream.avail_in;
    const std::size_t made = room - impl.stream.avail_out;
    impl.at += used;
    filled += made;
    if (outcome == Z_STREAM_END) {
      impl.state = Impl::State::between;
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
      impl.state = Impl::State::failed;
    } else if (used == 0 && made == 0) {
      break;
    }
  }
  return filled;
}

bool Inflater::complete() const {
  const bool whole = impl_->state == Impl::State::start || impl_->state == Impl::State::between;
  return whole && impl_->rest().empty();
}
bool Inflater::failed() const {
  return impl_->state == Impl::State::failed;
}

}  // namespace mcpx::http1
