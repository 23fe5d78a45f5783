// ChunkedDecoder: the chunked transfer coding, byte by byte, holding nothing.
//
// Takes whatever pieces the network makes of it, a size line in the middle included. Extensions are
// skipped, trailers are checked and dropped, both bounded. Owned by a decoder. Pure. Thread: any,
// one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mcpx::http1 {

class ChunkedDecoder {
 public:
  static constexpr std::size_t kMaxExtension = 256;  // per chunk
  static constexpr std::size_t kMaxTrailers = 8 * 1024;

  void reset() { *this = ChunkedDecoder(); }

  struct Step {
    std::size_t consumed;
    std::string_view data;  // part of the body, within the bytes given
  };
  // Reads on, up to the end of one size line or one run of data.
  Step step(std::string_view bytes);

  bool done() const { return state_ == State::done; }
  const char* error() const { return error_; }  // null while all is well
  // Size of the current chunk still to come, once its size line is complete.
  std::uint64_t announced() const { return state_ == State::data ? left_ : 0; }

 private:
  enum class State : unsigned char {
    size_start,
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_start,
    trailer_name,
    trailer_value,
    trailer_lf,
    last_lf,
    done
  };

  void take(char c);
  void take_size(char c);
  void take_trailer(char c);
  void expect(char c, char wanted, State next);
  void fail(const char* why) { error_ = why; }

  std::uint64_t left_ = 0;
  std::size_t count_ = 0;  // digits, extension bytes or trailer bytes so far
  const char* error_ = nullptr;
  State state_ = State::size_start;
};

}  // namespace mcpx::http1
