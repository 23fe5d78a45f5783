#include "downstream/session_stream.hpp"

#include <string>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/replays.hpp"
#include "http1/sse.hpp"

namespace mcpx::downstream {
namespace {

constexpr unsigned kRetryMs = 1000;

// Lets what writes to a client write into a stream of events instead.
class Recorder final : public http::Exchange {
 public:
  explicit Recorder(EventStream& events) : events_(events) {
    const auto over = [this] { gone_.cancel("the stream is over"); };
    events_.on_close(over);
    if (events_.closed()) over();
  }
  ~Recorder() override { events_.on_close(nullptr); }

  const http1::RequestHead& head() const override { return head_; }
  PaddedBuffer take_body() override { return {}; }
  runtime::Shard& shard() const override { return events_.home(); }
  std::string_view request_id() const override { return {}; }
  runtime::CancelSource& gone() override { return gone_; }

  Task<Result<void>> respond(unsigned, std::string_view, std::span<const std::string_view>,
                             std::span<const http1::Field>) override {
    co_return Result<void>();
  }
  Task<Result<void>> begin_stream(std::span<const http1::Field>) override {
    co_return Result<void>();
  }
  Task<Result<void>> send_event(std::string_view json, std::string_view) override {
    events_.add_once(std::string(json));
    co_return Result<void>();
  }
  Task<Result<void>> send_framed(std::string_view) override { co_return Result<void>(); }
  Task<Result<void>> send_keep_alive() override { co_return Result<void>(); }
  Task<Result<void>> end_stream() override {
    events_.close();
    co_return Result<void>();
  }
  bool streaming() const override { return true; }

 private:
  EventStream& events_;
  http1::RequestHead head_;
  runtime::CancelSource gone_;
};

// One stream that waits for its client to come back is enough.
void forget_left_ones(Core& core, const SessionPtr& session) {
  for (runtime::Shard* shard : core.shards) {
    if (shard->is_current()) {
      core.local(*shard).replays.forget_left(*session);
      continue;
    }
    shard->post([owner = core.shared_from_this(), shard, session] {
      owner->local(*shard).replays.forget_left(*session);
    });
  }
}

}  // namespace

Task<void> follow(ChangeStreams& streams, SessionPtr session, std::shared_ptr<EventStream> events) {
  Recorder recorder(*events);
  co_await streams.serve_session(recorder, std::move(session));
  events->close();
}

Task<void> serve_session_stream(Core& core, http::Exchange& exchange, SessionPtr session) {
  SessionUse use(*session);
  Local& local = core.local(exchange.shard());
  const auto events = std::make_shared<EventStream>(exchange.shard());
  const bool kept = local.replays.enabled();
  if (kept) {
    forget_left_ones(core, session);
    local.replays.keep(events, session, EventId::Kind::session, json::Raw());
  }
  const EventStream::ReaderPtr reader = events->attach(0);
  local.tasks.spawn("session stream", follow(local.streams, session, events));
  Result<void> sent = co_await exchange.begin_stream(kNoFields);
  if (sent && kept && session->revision >= mcp::Revision::r2025_11_25) {
    std::string priming;
    http1::append_sse_priming(priming, events->id_of(0), kRetryMs);
    sent = co_await exchange.send_framed(priming);
  }
  if (sent) co_await write_events(exchange, events, reader, kKeepAlive);
  if (!sent || !kept) events->abandon();
}

}  // namespace mcpx::downstream
