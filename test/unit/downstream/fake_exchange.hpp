// One HTTP exchange without a connection: what the handler sends is kept for the test to read.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/server.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/one_shot.hpp"

namespace mcpx::test {

using FieldList = std::vector<std::pair<std::string, std::string>>;

class FakeExchange final : public http::Exchange {
 public:
  FakeExchange(runtime::Shard& shard, std::string method, std::string target,
               const FieldList& fields, std::string_view sent = {})
      : shard_(shard), body_(sent) {
    head_.method = std::move(method);
    head_.target = std::move(target);
    for (const auto& [name, value] : fields)
      head_.fields.add(name, value);
  }

  const http1::RequestHead& head() const override { return head_; }
  PaddedBuffer take_body() override { return std::move(body_); }
  runtime::Shard& shard() const override { return shard_; }
  std::string_view request_id() const override { return "r-test"; }
  std::string_view principal() const override { return principal_name; }
  runtime::CancelSource& gone() override { return gone_; }

  Task<Result<void>> respond(unsigned status_in, std::string_view type,
                             std::span<const std::string_view> parts,
                             std::span<const http1::Field> extra) override {
    ++answers;
    status = status_in;
    content_type = type;
    for (const std::string_view part : parts)
      body += part;
    keep(extra);
    co_return Result<void>();
  }

  Task<Result<void>> begin_stream(std::span<const http1::Field> extra) override {
    ++answers;
    status = 200;
    content_type = "text/event-stream";
    streaming_ = true;
    keep(extra);
    co_return write();
  }

  Task<Result<void>> send_event(std::string_view json, std::string_view id) override {
    const std::string text(json);
    const std::string event_id(id);
    if (hold) {
      co_await released.wait();
    }
    const Result<void> sent = write();
    if (sent) {
      events.push_back(text);
      ids.push_back(event_id);
      arrived.push(text);
    }
    co_return sent;
  }

  Task<Result<void>> send_framed(std::string_view event) override {
    const Result<void> sent = write();
    if (sent) framed.emplace_back(event);
    co_return sent;
  }

  Task<Result<void>> send_keep_alive() override {
    ++keep_alives;
    co_return write();
  }

  Task<Result<void>> end_stream() override {
    ended = true;
    arrived.close();
    co_return write();
  }
  bool streaming() const override { return streaming_; }

  // The client closes its side.
  void leave() {
    broken = true;
    gone_.cancel("the client went away");
  }
  std::string field(const std::string& name) const {
    const auto found = extra_.find(name);
    return found == extra_.end() ? std::string() : found->second;
  }
  // The response: the body, or the last event.
  std::string response() const { return streaming_ && !events.empty() ? events.back() : body; }

  std::string principal_name;  // set before it is served
  int answers = 0;
  unsigned status = 0;
  std::string content_type, body;
  std::vector<std::string> events, ids;  // as many of one as of the other
  std::vector<std::string> framed;
  runtime::Mailbox<std::string> arrived{1024};
  int keep_alives = 0;
  bool ended = false;
  bool broken = false;  // writes fail
  bool hold = false;    // events wait for `released`
  runtime::Latch released;

 private:
  Result<void> write() const {
    if (broken) return Error("http.closed", "the client is gone");
    return {};
  }
  void keep(std::span<const http1::Field> extra) {
    for (const auto& [name, value] : extra)
      extra_[std::string(name)] = value;
  }

  runtime::Shard& shard_;
  http1::RequestHead head_;
  PaddedBuffer body_;
  runtime::CancelSource gone_;
  std::map<std::string, std::string> extra_;
  bool streaming_ = false;
};

}  // namespace mcpx::test
