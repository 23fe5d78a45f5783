#include "connect_bridge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "connect_pending.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::cli {
namespace {

const json::Limits kLimits = {512};
constexpr std::string_view kBatches = "2025-03-26";  // the one revision that has them
constexpr std::string_view kNamelessErrors = "2025-11-25";

std::string failure_line(const rpc::ParseFailure& failure) {
  std::string out;
  rpc::append_error(out, failure.id, rpc::error_object(failure.code, failure.message));
  return out;
}

std::string oversized_line(const rpc::OversizedLine& line) {
  const Error error("connect.too_large", fmt::format("the message has {} bytes", line.size),
                    "send it in smaller parts");
  return error_line(line.id, rpc::kInvalidRequest, error);
}

}  // namespace

Bridge::Bridge(runtime::Shard& shard, Transport& transport, LineOutput& output,
               BridgeOptions options)
    : shard_(shard),
      transport_(transport),
      output_(output),
      options_(std::move(options)),
      drain_timer_(shard),
      pause_timer_(shard),
      listen_timer_(shard),
      requests_(shard),
      forwards_(shard, options_.in_flight) {}

Bridge::~Bridge() = default;

void Bridge::note(const std::string& text) const {
  if (options_.note) options_.note(text);
}

Task<void> Bridge::line(rpc::Line line) {
  if (const auto* oversized = std::get_if<rpc::OversizedLine>(&line)) {
    output_.write_line(oversized_line(*oversized));
    co_return;
  }
  PaddedBuffer text = std::get<PaddedBuffer>(std::move(line));
  if (rpc::is_batch(text.view())) {
    co_await batch(std::move(text));
    co_return;
  }
  rpc::ParseResult parsed = rpc::parse(std::move(text), kLimits);
  if (!parsed) co_return refuse_line(parsed.error());
  co_await dispatch(std::move(*parsed), nullptr);
}

Task<void> Bridge::batch(PaddedBuffer text) {
  std::optional<std::vector<PaddedBuffer>> parts;
  if (json::validate(text.view(), kLimits)) parts = rpc::split_batch(text);
  if (!parts || parts->empty() || parts->size() > options_.in_flight) {
    rpc::ParseFailure failure;
    failure.code = parts ? rpc::kInvalidRequest : rpc::kParseError;
    failure.message =
        parts ? fmt::format("Invalid Request: a batch has 1 to {} messages", options_.in_flight)
              : std::string("Parse error");
    co_return refuse_line(failure);
  }
  if (session_.version != kBatches) co_return refuse_batch(std::move(*parts));
  auto batch = std::make_shared<Batch>();
  std::vector<rpc::Message> messages;
  for (PaddedBuffer& part : *parts) {
    rpc::ParseResult parsed = rpc::parse(std::move(part), kLimits);
    if (!parsed) {
      if (parsed.error().id.empty()) co_return refuse_line(parsed.error());
      batch->answers.push_back(failure_line(parsed.error()));
      continue;
    }
    if (parsed->kind == rpc::Kind::request) ++batch->missing;
    messages.push_back(std::move(*parsed));
  }
  ++batch->missing;  // held open until all are under way
  for (rpc::Message& message : messages) {
    co_await dispatch(std::move(message), batch);
  }
  add_to_batch(*batch, std::nullopt);
}

// Each request in it gets its answer; there is no array of them in this revision.
void Bridge::refuse_batch(std::vector<PaddedBuffer> parts) {
  for (PaddedBuffer& part : parts) {
    const rpc::ParseResult parsed = rpc::parse(std::move(part), kLimits);
    rpc::ParseFailure failure;
    failure.code = rpc::kInvalidRequest;
    failure.message = "Invalid Request: only sessions of 2025-03-26 may send batches";
    if (parsed && parsed->kind != rpc::Kind::request) continue;
    failure.id = parsed ? std::string(parsed->id) : parsed.error().id;
    refuse_line(failure);
  }
}

// Errors without an id there are since 2025-11-25 (JSONRPCErrorResponse).
void Bridge::refuse_line(const rpc::ParseFailure& failure) {
  const bool nameless = failure.id.empty();
  if (nameless && !session_.version.empty() && session_.version < kNamelessErrors) {
    return note(fmt::format("a line was ignored: {}", failure.message));
  }
  output_.write_line(failure_line(failure));
}

Task<void> Bridge::dispatch(rpc::Message message, std::shared_ptr<Batch> batch) {
  if (message.kind == rpc::Kind::request) {
    co_await take_request(std::move(message), std::move(batch));
    co_return;
  }
  const bool initialized = message.method == "notifications/initialized";
  if (message.method == "notifications/cancelled") {
    const bool done = take_cancellation(message);
    if (done) co_return;
  }
  if (initialized) {
    // Requests that follow must find the session ready.
    co_await forward(std::move(message));
    start_listening();
    co_return;
  }
  if (!forwards_.spawn("forward", forward(std::move(message)))) {
    note("too many notifications are waiting for the daemon; one was dropped");
  }
}

Task<void> Bridge::take_request(rpc::Message message, std::shared_ptr<Batch> batch) {
  auto pending = std::make_shared<Pending>(shard_, std::move(message), std::move(batch));
  if (pending_.size() >= options_.in_flight) {
    const Error error("connect.busy",
                      fmt::format("{} requests are in flight already", pending_.size()),
                      "wait for answers before sending more");
    answer_error(*pending, mcp::kUpstreamFailure, error);
    co_return;
  }
  pending_.push_back(pending);
  if (pending->message.method == "initialize") {
    co_await request(pending);
    co_return;
  }
  requests_.spawn("request", request(std::move(pending)));
}

bool Bridge::take_cancellation(const rpc::Message& message) {
  const auto id = json::find(message.params, "requestId");
  if (!id) return session_.version.empty();
  for (const PendingPtr& pending : pending_) {
    if (pending->withdrawn || !same_id(pending->id, *id)) continue;
    pending->withdrawn = true;
    // Over HTTP a modern request is cancelled by closing its exchange; a legacy one is told, and
    // its exchange ends by itself.
    if (pending->modern) {
      pending->stop("cancelled by the client");
      return true;
    }
    pending->timer.cancel();
    return false;
  }
  // Nothing it could mean to a daemon that has no session of ours.
  return session_.version.empty();
}

void Bridge::settle(Pending& pending, std::optional<std::string> line) {
  if (std::exchange(pending.settled, true)) return;
  if (pending.batch) {
    add_to_batch(*pending.batch, std::move(line));
  } else if (line) {
    output_.write_line(*line);
  }
}

void Bridge::add_to_batch(Batch& batch, std::optional<std::string> line) {
  if (line) batch.answers.push_back(std::move(*line));
  if (--batch.missing > 0 || batch.answers.empty()) return;
  std::string out = "[";
  for (const std::string& answer : batch.answers) {
    if (out.size() > 1) out += ',';
    out += answer;
  }
  output_.write_line(out + "]");
}

void Bridge::answer_error(Pending& pending, int code, const Error& error) {
  settle(pending, error_line(pending.id, code, error));
}

void Bridge::abort(const std::string& reason) {
  stopping_ = true;
  stop_reason_ = reason;
  const std::vector<PendingPtr> all = pending_;
  for (const PendingPtr& pending : all) {
    pending->stop(reason);
  }
  stop_.cancel(reason);
  pause_timer_.cancel();
  listen_timer_.cancel();
  drain_timer_.cancel();
}

Task<void> Bridge::finish() {
  // A subscription only ends with its client, and that is gone.
  const std::vector<PendingPtr> all = pending_;
  for (const PendingPtr& pending : all) {
    if (pending->message.method != "subscriptions/listen") continue;
    pending->withdrawn = true;
    pending->stop("the input ended");
  }
  const TimePoint until = Clock::now() + options_.drain;
  while (!pending_.empty() && !stopping_) {
    const bool late = co_await drain_timer_.sleep_until(until);
    if (late) break;
  }
  abort("the input ended before the answer came");
  co_await requests_.join();
  co_await forwards_.join();
  co_await say_farewell();
}

}  // namespace mcpx::cli
