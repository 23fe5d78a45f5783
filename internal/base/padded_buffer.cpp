#include "base/padded_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mcpx {

PaddedBuffer::PaddedBuffer(PaddedBuffer&& other) noexcept
    : data_(std::move(other.data_)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

PaddedBuffer& PaddedBuffer::operator=(PaddedBuffer&& other) noexcept {
  data_ = std::move(other.data_);
  size_ = std::exchange(other.size_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

void PaddedBuffer::reserve(std::size_t bytes) {
  if (data_ && bytes <= capacity_) return;
  auto grown = std::unique_ptr<char[]>(new char[bytes + kPadding]);
  if (size_ != 0) std::memcpy(grown.get(), data_.get(), size_);
  std::memset(grown.get() + size_, 0, kPadding);
  data_ = std::move(grown);
  capacity_ = bytes;
}

void PaddedBuffer::append(std::string_view bytes) {
  if (!data_ || size_ + bytes.size() > capacity_) {
    reserve(std::max(size_ + bytes.size(), capacity_ + capacity_ / 2));
  }
  if (!bytes.empty()) std::memcpy(data_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
  std::memset(data_.get() + size_, 0, kPadding);
}

void PaddedBuffer::clear() {
  size_ = 0;
  if (data_) std::memset(data_.get(), 0, kPadding);
}

}  // namespace mcpx
