// FakeStream: a ByteStream without a socket. A script of reads, a record of writes, and a failure
// at the n-th operation. What the script does not say waits until more is scripted or close().
//
// Owned like any stream, by the code under test; the test keeps the shared Script to steer and to
// look. Thread: home shard only.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "net/stream.hpp"
#include "runtime/waiter.hpp"

namespace mcpx::test {

class FakeStream final : public net::ByteStream {
 public:
  struct Read {
    std::string bytes;             // empty with no error: the peer ended its side
    std::optional<Error> error;    // instead of bytes
    std::size_t after_writes = 0;  // not before so many writes were made
  };

  struct Script {
    void bytes(std::string text) {
      // Empty would read as an end.
      if (!text.empty()) add(std::move(text), std::nullopt);
    }
    // One read per byte: the slowest peer there is.
    void byte_by_byte(std::string_view text) {
      for (const char c : text)
        bytes(std::string(1, c));
    }
    void end() { add(std::string(), std::nullopt); }
    void fail(std::string code) { add(std::string(), Error(std::move(code), "scripted failure")); }
    // The read deadline passes once everything scripted before is read.
    void timeout() { fail("net.timeout"); }

    // What is scripted from here on comes once `count` writes were made in all.
    void after_writes(std::size_t count) { after_writes_ = count; }

    bool ends_with_us = false;  // the peer ends its side when we end ours
    std::string written;
    std::size_t writes = 0;
    std::size_t fail_write = 0;  // the n-th write fails, counted from 1; 0: none
    bool sent_end = false;       // shutdown_send() was called
    bool closed = false;
    TimePoint read_deadline = kNever;
    TimePoint write_deadline = kNever;

    std::deque<Read> reads;
    runtime::Waiter waiter;

    bool ready() const { return !reads.empty() && reads.front().after_writes <= writes; }

   private:
    void add(std::string text, std::optional<Error> error) {
      Read read;
      read.bytes = std::move(text);
      read.error = std::move(error);
      read.after_writes = after_writes_;
      reads.push_back(std::move(read));
      waiter.wake();
    }
    std::size_t after_writes_ = 0;
  };

  explicit FakeStream(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ~FakeStream() override { script_->closed = true; }

  Task<Result<std::size_t>> read_some(std::span<char> into) override;
  Task<Result<void>> write(std::span<const std::string_view> parts) override;
  void read_deadline(TimePoint when) override { script_->read_deadline = when; }
  void write_deadline(TimePoint when) override { script_->write_deadline = when; }
  void shutdown_send() override {
    script_->sent_end = true;
    if (script_->ends_with_us) script_->end();
  }
  void close() override {
    script_->closed = true;
    script_->waiter.wake();
  }
  std::string peer() const override { return "fake"; }

 private:
  std::shared_ptr<Script> script_;
};

inline Task<Result<std::size_t>> FakeStream::read_some(std::span<char> into) {
  while (!script_->ready() && !script_->closed) {
    co_await script_->waiter.wait();
  }
  if (script_->closed) co_return Error("net.closed", "closed here");
  Read& read = script_->reads.front();
  if (read.error) {
    const Error error = *read.error;
    script_->reads.pop_front();
    co_return error;
  }
  const std::size_t size = std::min(read.bytes.size(), into.size());
  std::memcpy(into.data(), read.bytes.data(), size);
  read.bytes.erase(0, size);
  if (read.bytes.empty()) script_->reads.pop_front();
  co_return size;
}

inline Task<Result<void>> FakeStream::write(std::span<const std::string_view> parts) {
  if (script_->closed) co_return Error("net.closed", "closed here");
  ++script_->writes;
  script_->waiter.wake();
  if (script_->writes == script_->fail_write) co_return Error("net.reset", "scripted failure");
  for (const std::string_view part : parts) {
    script_->written.append(part);
  }
  co_return Result<void>();
}

}  // namespace mcpx::test
