#include "http1/chunked.hpp"

#include <algorithm>

#include "http1/syntax.hpp"

namespace mcpx::http1 {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkedDecoder::Step ChunkedDecoder::step(std::string_view bytes) {
  if (state_ == State::data) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= size;
    if (left_ == 0) state_ = State::data_cr;
    return {size, bytes.substr(0, size)};
  }
  std::size_t used = 0;
  while (used < bytes.size() && !error_ && state_ != State::data && state_ != State::done) {
    take(bytes[used++]);
  }
  return {used, {}};
}

void ChunkedDecoder::expect(char c, char wanted, State next) {
  if (c != wanted) return fail("a line of the chunked body does not end in CR LF");
  state_ = next;
}

void ChunkedDecoder::take(char c) {
  switch (state_) {
    case State::size_start:
    case State::size:
    case State::extension:
      return take_size(c);
    case State::size_lf:
      count_ = 0;
      return expect(c, '\n', left_ == 0 ? State::trailer_start : State::data);
    case State::data_cr:
      return expect(c, '\r', State::data_lf);
    case State::data_lf:
      count_ = 0;
      return expect(c, '\n', State::size_start);
    case State::trailer_start:
    case State::trailer_name:
    case State::trailer_value:
      return take_trailer(c);
    case State::trailer_lf:
      return expect(c, '\n', State::trailer_start);
    case State::last_lf:
      return expect(c, '\n', State::done);
    case State::data:
    case State::done:
      return;
  }
}

void ChunkedDecoder::take_size(char c) {
  if (state_ == State::extension) {
    if (c == '\r') {
      state_ = State::size_lf;
    } else if (is_control(c)) {
      fail("a chunk extension holds a control character");
    } else if (++count_ > kMaxExtension) {
      fail("a chunk extension is too long");
    }
    return;
  }
  const int digit = hex_digit(c);
  if (digit >= 0) {
    if (++count_ > 16) return fail("a chunk size has too many digits");
    left_ = left_ * 16 + static_cast<unsigned>(digit);
    state_ = State::size;
  } else if (state_ == State::size_start) {
    fail("a chunk size is missing");
  } else if (c == '\r') {
    state_ = State::size_lf;
  } else if (c == ';' || c == ' ' || c == '\t') {
    count_ = 0;
    state_ = State::extension;
  } else {
    fail("a chunk size is not a hexadecimal number");
  }
}

void ChunkedDecoder::take_trailer(char c) {
  if (++count_ > kMaxTrailers) return fail("the trailers are too long");
  if (state_ == State::trailer_value) {
    if (c == '\r') {
      state_ = State::trailer_lf;
    } else if (is_control(c)) {
      fail("a trailer holds a control character");
    }
  } else if (c == '\r' && state_ == State::trailer_start) {
    state_ = State::last_lf;
  } else if (c == ':' && state_ == State::trailer_name) {
    state_ = State::trailer_value;
  } else if (is_token(c)) {
    state_ = State::trailer_name;
  } else {
    fail("a trailer is not a field");
  }
}

}  // namespace mcpx::http1
