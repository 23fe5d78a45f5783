#include "upstream/stdio_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.hpp"
#include "mcp/extensions.hpp"
#include "process/environment.hpp"
#include "runtime/timer.hpp"
#include "upstream/hop.hpp"
#include "upstream/opener.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kStderrLines = 20;
// A child that takes none of its input for this long will not take the next request either.
constexpr Milliseconds kWriteTimeout{30'000};
// Between the end of its output and the news of its exit.
constexpr Milliseconds kExitNews{1'000};
// Answers that wait for a server to read them. One that asks on and does not read gets no more.
constexpr std::size_t kAnswerBytes = 256 * 1024;

process::Command command_of(const config::Server& config) {
  process::Command command;
  command.program = config.command;
  command.args = config.args;
  command.cwd = config.cwd;
  return command;
}

}  // namespace

Task<Result<std::shared_ptr<Link>>> open_stdio_link(LinkContext context) {
  const config::Server& config = context.config;
  process::Command command = command_of(config);
  command.environment =
      process::merge_environment(process::current_environment(), config.inherit_env, config.env,
                                 context.environment.path_extra);
  process::Child::Options options;
  options.supervisor = context.environment.supervisor;
  options.open_files = context.environment.open_files;
  options.stderr_bytes = context.environment.limits.stderr_bytes;
  Result<std::unique_ptr<process::Child>> child =
      co_await process::Child::start(context.home, std::move(command), options);
  if (!child) {
    Error error = child.error();
    error.message = fmt::format("server {}: {}", config.name, error.message);
    co_return error;
  }
  auto link = std::make_shared<StdioLink>(std::move(context), std::move(*child));
  link->begin();
  std::shared_ptr<Link> opened = std::move(link);
  co_return opened;
}

StdioLink::StdioLink(LinkContext context, std::unique_ptr<process::Child> child)
    : context_(std::move(context)),
      child_(std::move(child)),
      record_(context_.environment.store, context_.config.name, *child_),
      framer_(context_.environment.limits.message_bytes),
      pending_(context_.home, context_.config.name, [this](rpc::Number id) { timed_out(id); }),
      asking_(context_.config.name,
              {[this](std::string line, std::string_view) { queue(std::move(line)); },
               [this](std::string line, std::string_view) { send_answer(std::move(line)); },
               [this](Task<void> task) { return tasks_.spawn("question", std::move(task)); },
               [this](rpc::Number call, bool waits) { hold(call, waits); }}),
      listener_(
          context_.home, context_.events,
          [this](std::string params, std::optional<rpc::Number>& id) {
            return hold_listen(std::move(params), id);
          },
          [this](rpc::Number id) { close_listen(id); }),
      tasks_(context_.home) {}

void StdioLink::begin() {
  child_->on_exit([this](process::ExitStatus status) { exit_.set(status); });
  tasks_.spawn("stdio reader", read_lines());
  tasks_.spawn("stdio writer", write_lines());
}

// --- Sending

bool StdioLink::queue(std::string line) {
  if (lost_ || hurried_) return false;
  // What waits here belongs to requests that were admitted, each bounded by the body limit, or
  // answers the server (kAnswerBytes, Asking::kAtMost); a child that reads nothing is found by the
  // write deadline.
  outgoing_ += line;
  outgoing_ += '\n';
  writable_.wake();
  return true;
}

Task<void> StdioLink::write_lines() {
  std::string writing;
  while (!lost_ && !stopped_) {
    if (outgoing_.empty()) {
      co_await writable_.wait();
      continue;
    }
    writing.clear();
    std::swap(writing, outgoing_);
    answers_waiting_ = 0;
    child_->input().write_deadline(Clock::now() + kWriteTimeout);
    Result<void> written = co_await net::write_all(child_->input(), writing);
    if (!written) {
      // The reader says what became of the child; make sure that it gets to.
      if (written.error().code == "net.timeout") child_->output().close();
      break;
    }
  }
}

Task<Reply> StdioLink::request(std::string_view method, std::string params, TimePoint deadline,
                               OnGiveUp on_give_up) {
  if (lost_) co_return *lost_;
  const rpc::Number id = pending_.add(deadline, nullptr);
  if (on_give_up == OnGiveUp::forget) quiet_.insert(id);
  co_return co_await send(id, method, std::move(params));
}

// A registered request, to its answer.
Task<Reply> StdioLink::send(rpc::Number id, std::string_view method, std::string params) {
  std::string line;
  rpc::append_request(line, std::to_string(id), method, params);
  if (!queue(std::move(line))) {
    pending_.answer(id, Error("upstream.stopped", "the server is being stopped"));
  }
  Reply reply = co_await pending_.wait(id);
  quiet_.erase(id);
  co_return reply;
}

Task<Result<void>> StdioLink::notify(std::string_view method, std::string params) {
  std::string line;
  rpc::append_notification(line, method, params);
  if (queue(std::move(line))) co_return Result<void>();
  co_return lost_.value_or(Error("upstream.stopped", "the server is being stopped"));
}

Task<Reply> StdioLink::forward(const Forward& forward) {
  const call::Call& call = forward.call;
  if (lost_) co_return *lost_;
  ask_level(call.caller.log_level);
  Relay relay(forward);
  const rpc::Number id = pending_.add(forward.deadline, &relay);
  const std::string token = std::to_string(id);
  HopContext hop;
  hop.to = facts_.revision;
  hop.client_info = context_.environment.client_info;
  hop.plain_meta = plain_meta_;
  hop.progress_token = token;
  std::string line;
  rpc::append_request(line, token, call.method_name, hop_params(call, hop));
  queue(std::move(line));

  runtime::CancelSource::Subscription cancelled;
  if (forward.cancel) {
    cancelled = forward.cancel->subscribe([this, id, &relay](const std::string& reason) {
      relay.close();
      give_up(id, reason);
      pending_.answer(id, Error("request.cancelled", "the caller cancelled the request"));
    });
  }
  Reply reply = co_await pending_.wait(id);
  asking_.end_call(id);
  co_return reply;
}

// A legacy server logs by the level of its session. Its answer is not waited for: the lines of a
// pipe keep their order, and a server that refuses logs as it likes.
void StdioLink::ask_level(std::string_view level) {
  if (!logs_ || !asked_level_.lower_to(level)) return;
  json::ObjectBuilder params;
  params.string("level", level);
  std::string line;
  rpc::append_request(line, std::to_string(pending_.unawaited_id()), "logging/setLevel",
                      params.take());
  queue(std::move(line));
}

// Tells the server that an answer is no longer wanted; a late one is ignored.
void StdioLink::give_up(rpc::Number id, std::string_view reason) {
  if (quiet_.count(id) != 0) return;
  json::ObjectBuilder params;
  params.integer("requestId", id).string("reason", reason);
  std::string line;
  rpc::append_notification(line, "notifications/cancelled", params.take());
  queue(std::move(line));
}

// --- Receiving

Task<void> StdioLink::read_lines() {
  std::string buffer(kReadBytes, '\0');
  Error reading("upstream.exited", "it closed its standard output");
  while (true) {
    Result<std::size_t> got = co_await child_->output().read_some(buffer);
    if (!got) reading = got.error();
    if (!got || *got == 0) break;
    mute_timeouts_ = 0;
    framer_.feed(std::string_view(buffer.data(), *got));
    while (auto line = framer_.next())
      take_line(std::move(*line));
  }
  Error why = reading;
  if (condemned_) {
    why = *condemned_;
  } else {
    why = co_await why_it_ended(std::move(reading));
  }
  lost_ = why;
  listener_.stop();
  writable_.wake();
  pending_.answer_all(why);
  if (!stopped_ && context_.events.lost) context_.events.lost(why);
}

Task<Error> StdioLink::why_it_ended(Error reading) {
  if (!stopped_ && !exit_.is_set()) {
    // Its output has ended; the exit status follows within moments unless it lives on without one.
    runtime::Watchdog patience(context_.home, [this] {
      process::ExitStatus unknown;
      unknown.code = -1;
      exit_.set(unknown);
    });
    patience.set(Clock::now() + kExitNews);
    co_await exit_.wait();
  }
  const auto status = child_->exited();
  std::string message = fmt::format("server {} ended: {}", context_.config.name,
                                    status ? status->text() : reading.message);
  const auto lines = stderr_tail();
  if (!lines.empty()) message += fmt::format("; its last words: {}", fmt::join(lines, " | "));
  Error why("upstream.exited", std::move(message),
            fmt::format("run its command by hand, or see `mcpx servers {}`", context_.config.name));
  co_return why;
}

void StdioLink::take_line(rpc::Line line) {
  if (auto* oversized = std::get_if<rpc::OversizedLine>(&line)) {
    Error error(
        "upstream.too_large",
        fmt::format("server {} answered with a message of {} bytes, more than the {} allowed",
                    context_.config.name, oversized->size,
                    context_.environment.limits.message_bytes),
        "raise limits.message in the configuration");
    log::warning("{}", error.text());
    if (const auto id = rpc::id_number(oversized->id)) pending_.answer(*id, error);
    return;
  }
  const json::Limits limits{context_.environment.limits.json_depth};
  auto parsed = rpc::parse(std::move(std::get<PaddedBuffer>(line)), limits);
  if (parsed) {
    take_message(std::move(*parsed));
    return;
  }
  const rpc::ParseFailure& failure = parsed.error();
  const auto id = rpc::id_number(failure.id);
  Error error("upstream.bad_frame",
              fmt::format("server {} answered with something that is not a valid message: {}",
                          context_.config.name, failure.message),
              "report this to the server's author");
  if (id && pending_.answer(*id, std::move(error))) return;
  junk(failure.message);
}

// Servers print banners and debug lines on standard output; they are skipped (case C16).
void StdioLink::junk(std::string_view what) {
  if (!std::exchange(warned_junk_, true)) {
    log::warning(
        "server {} writes lines that are not JSON-RPC on its standard output ({}); they are "
        "skipped, and this is said once",
        context_.config.name, what);
  }
}

void StdioLink::take_message(rpc::Message message) {
  switch (message.kind) {
    case rpc::Kind::result:
    case rpc::Kind::error: {
      const auto id = rpc::id_number(message.id);
      if (!id || !pending_.answer(*id, std::move(message))) {
        log::debug("server {}: an answer nobody waits for was ignored", context_.config.name);
      }
      return;
    }
    case rpc::Kind::notification:
      return take_notification(message);
    case rpc::Kind::request:
      return take_request(message);
  }
}

void StdioLink::take_notification(const rpc::Message& message) {
  if (message.method == "notifications/progress") return relay_progress(message);
  if (message.method == "notifications/message") return relay_log(message);
  if (message.method == "notifications/cancelled") withdraw_question(message);
  if (speaks_extensions_ && mcp::is_foreign_notification(message.method))
    return take_extension(message);
  if (facts_.era() == mcp::Era::modern) return take_subscribed(message);
  if (const auto kind = announced_list(message.method)) context_.events.list_changed(*kind);
  if (message.method == kResourceUpdated) tell_update(context_.events, message.params);
  if (message.method == kElicitationComplete && context_.events.completed) {
    context_.events.completed(std::string(message.params));
  }
}

// For the only call there is, as logs are, and for every other client that listens.
void StdioLink::take_extension(const rpc::Message& message) {
  const std::string json = extension_message(message);
  Relay* const relay = pending_.only_relay();
  const bool told = relay && relay->pass(json);
  if (!context_.events.extension) return;
  context_.events.extension(json, told ? std::string(relay->call().caller.session) : "");
}

// Changes come under the id of the subscription that asked for them.
void StdioLink::take_subscribed(const rpc::Message& message) {
  if (listener_.take(message)) return;
  const auto cancelled = Listener::cancelled_by(message);
  if (cancelled && listener_.is_open(*cancelled)) {
    pending_.answer(*cancelled,
                    Error("upstream.disconnected", "the server ended the subscription"));
  }
}

// Progress is a sign of life: the call it is of gets more time, within its bound.
void StdioLink::relay_progress(const rpc::Message& message) {
  const auto token = json::find(message.params, "progressToken");
  const auto id = token ? rpc::id_number(*token) : std::nullopt;
  Relay* relay = id ? pending_.relay_of(*id) : nullptr;
  if (relay && relay->progress(message.params, Clock::now())) {
    pending_.extend(*id, relay->deadline());
  }
}

void StdioLink::relay_log(const rpc::Message& message) {
  if (Relay* relay = pending_.only_relay()) relay->log(message.params);
}

// A question is for the call it can only belong to: the one that waits for the task it names, the
// only one there is, or, where all calls are of one client, any of them. Never a guess (case C54).
void StdioLink::take_request(const rpc::Message& message) {
  const auto& roots = context_.config.roots;
  if (belongs_to_a_call(message.method, roots) && facts_.era() == mcp::Era::legacy) {
    rpc::Number call = pending_.call_of_task(message.params);
    if (call == 0) {
      if (pending_.calls() > 0) context_.events.asked();
      call = context_.one_caller ? pending_.oldest_call() : pending_.only_call();
    }
    if (call != 0 && asking_.take(message, call, pending_.relay_of(call)->call())) return;
    if (call == 0 && was_declared(message, declared())) {
      if (asking_.take_for_nobody(message, context_.environment)) return;
      return send_answer(unattributed_answer(message, pending_.calls()));
    }
  }
  std::string line;
  append_answer(line, message, roots);
  send_answer(std::move(line));
}

void StdioLink::send_answer(std::string line) {
  if (answers_waiting_ + line.size() > kAnswerBytes) {
    if (std::exchange(warned_unanswered_, true)) return;
    return log::warning(
        "server {} asks faster than it reads the answers; not all get one, and this "
        "is said once",
        context_.config.name);
  }
  answers_waiting_ += line.size();
  queue(std::move(line));
}

void StdioLink::hold(rpc::Number call, bool waits) {
  Relay* relay = pending_.relay_of(call);
  if (!relay) return;
  waits ? relay->hold(Clock::now()) : relay->go_on(Clock::now());
  pending_.follow_relay(call);
}

void StdioLink::withdraw_question(const rpc::Message& message) {
  const auto id = json::find(message.params, "requestId");
  if (id) asking_.withdraw(*id, "the server asks no more");
}

// --- Life

void StdioLink::established(const mcp::ServerFacts& facts) {
  facts_ = facts;
  logs_ = facts.era() == mcp::Era::legacy && json::find(facts.capabilities, "logging").has_value();
  plain_meta_ = mcp::modern_meta(facts.revision, client_info(), "{}");
  speaks_extensions_ = mcp::declares_others(facts.capabilities);
  if (facts_.era() == mcp::Era::modern) {
    tasks_.spawn("listen", listener_.run(facts_, std::string(client_info())));
  }
}

// A subscription of the Listener; pending until it is closed or the link is lost.
Task<Reply> StdioLink::hold_listen(std::string params, std::optional<rpc::Number>& id) {
  if (lost_) co_return *lost_;
  id = pending_.add(kNever, nullptr);
  co_return co_await send(*id, "subscriptions/listen", std::move(params));
}

void StdioLink::close_listen(rpc::Number id) {
  give_up(id, "another subscription took its place");
  pending_.answer(id, Error("request.cancelled", "another subscription took its place"));
}

std::vector<std::string> StdioLink::stderr_tail() const {
  std::vector<std::string> lines;
  std::string tail = child_->errors().tail(kStderrLines);
  if (context_.environment.redactor) tail = (*context_.environment.redactor)(tail);
  for (std::size_t at = 0; at < tail.size();) {
    const std::size_t end = std::min(tail.find('\n', at), tail.size());
    if (end > at) lines.push_back(tail.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void StdioLink::hurry() {
  hurried_ = true;
  listener_.stop();
  pending_.answer_all(stopping_error(context_.config.name));
  asking_.end_call(Asking::kNobodys);
}

Task<void> StdioLink::stop(Milliseconds grace) {
  stopped_ = true;
  hurry();
  writable_.wake();
  if (grace.count() > 0) {
    co_await child_->stop(grace);
  } else {
    co_await child_->kill();
  }
  child_->output().close();
  co_await tasks_.join();
}

}  // namespace mcpx::upstream
