// PaddedBuffer: a growable byte buffer that always has kPadding zeroed bytes behind its content.
//
// Scanners may read up to 64 bytes past the end of what they scan. The bytes live on the heap and
// stay where they are when the buffer is moved, so spans into it survive a move (not an append).
// Owned by whoever holds it; movable, not copyable. Thread: any, one at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace mcpx {

class PaddedBuffer {
 public:
  static constexpr std::size_t kPadding = 64;

  PaddedBuffer() = default;
  explicit PaddedBuffer(std::string_view text) { append(text); }
  PaddedBuffer(PaddedBuffer&& other) noexcept;
  PaddedBuffer& operator=(PaddedBuffer&& other) noexcept;
  PaddedBuffer(const PaddedBuffer&) = delete;
  PaddedBuffer& operator=(const PaddedBuffer&) = delete;

  void append(std::string_view bytes);
  // Makes room for `bytes` in all, without changing the content.
  void reserve(std::size_t bytes);
  void clear();  // keeps the memory

  std::string_view view() const { return {data_.get(), size_}; }
  const char* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }  // without the padding
  bool empty() const { return size_ == 0; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace mcpx
