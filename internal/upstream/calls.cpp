// How a call reaches its server: past the breaker, to an instance, over to the server's shard and
// back; and what is done once more when it failed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/hop.hpp"
#include "upstream/lifecycle.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

Error cancelled_error() {
  return Error("request.cancelled", "the caller cancelled the request");
}

// Failures that say the server is not well. Not among them: what the caller did, what a limit of
// ours did, and an answer that was merely wrong.
bool counts_against(const Error& error) {
  static constexpr std::string_view kIll[] = {
      "upstream.timeout",       "upstream.unreachable",  "upstream.disconnected",
      "upstream.exited",        "upstream.unresponsive", "upstream.tls",
      "upstream.start_timeout", "upstream.http_status",  "upstream.spawn_failed"};
  return std::find(std::begin(kIll), std::end(kIll), error.code) != std::end(kIll);
}

// The server is gone, and with it the call, which it may or may not have done.
bool broke_off(const Error& error) {
  return error.code == "upstream.exited" || error.code == "upstream.disconnected" ||
         error.code == "upstream.unresponsive";
}

// The name the server itself gave the tool.
std::string original_tool(const call::Call& call) {
  const auto name = call.target_value.empty() ? json::find_string(call.params, "name")
                                              : json::decode_string(call.target_value);
  return name.value_or("");
}

}  // namespace

std::string session_owner(std::string_view session) {
  return fmt::format("session {}", session);
}

std::string owner_of(const call::Caller& caller, mcp::Askable askable) {
  if (!caller.session.empty()) return session_owner(caller.session);
  return fmt::format("principal {}/{}", askable, caller.principal);
}

// --- On the caller's shard

std::optional<mcp::Era> Lifecycle::era() const {
  const View& known = view();
  if (known.link) return known.link->facts().era();
  if (known.offers) return known.offers->facts.era();
  return std::nullopt;
}

Task<Answered> Lifecycle::forward(const call::Call& call) {
  const Breaker::Verdict verdict = breaker_.ask(Clock::now());
  if (verdict == Breaker::Verdict::refuse) co_return Answered(refusal());
  Terms terms = terms_of(call);
  std::string told;
  terms.told = &told;
  std::shared_ptr<const Catalogue> used = view().offers;
  Answered answered = co_await forward_once(call, terms);
  if (fields_refused(call, answered)) {
    const bool learnt = co_await learn_fields(std::move(used), terms.deadline);
    if (learnt) answered = co_await forward_once(call, terms);
  } else if (!answered.reply && worth_repeating(call, answered.reply.error())) {
    answered = co_await forward_once(call, terms);
  }
  judge(verdict, answered.reply);
  co_return answered;
}

Task<Answered> Lifecycle::forward_once(const call::Call& call, const Terms& terms) {
  const bool shared_http = config.is_http() && config.scope == config::Scope::shared;
  return shared_http ? forward_here(call, terms) : forward_at_home(call, terms);
}

Terms Lifecycle::terms_of(const call::Call& call) const {
  Terms terms;
  terms.timeout = config.call_timeout;
  if (!config.tool_timeouts.empty() && call.method == mcp::Method::tools_call) {
    terms.timeout = config.call_timeout_for(original_tool(call));
  }
  const TimePoint now = Clock::now();
  terms.deadline = call.deadline;
  terms.latest = call.deadline;
  if (call.deadline == kNever) {
    terms.deadline = now + terms.timeout;
    terms.latest = now + std::max(terms.timeout, config.call_timeout_max);
  }
  return terms;
}

// An expired session did nothing. A call that broke off may have been done: only one that the
// server itself calls harmless to repeat is (design, section 4).
bool Lifecycle::worth_repeating(const call::Call& call, const Error& error) const {
  if (call.caller.cancel && call.caller.cancel->cancelled()) return false;
  if (error.code == "upstream.session_expired") return true;
  if (!broke_off(error) || call.method == mcp::Method::foreign) return false;
  if (call.method != mcp::Method::tools_call) return true;  // reading changes nothing
  const auto& offers = view().offers;
  return offers && offers->repeatable(original_tool(call));
}

// An HTTP server is called from the shard the caller is on; the home shard is asked only for a
// link.
Task<Answered> Lifecycle::forward_here(const call::Call& call, const Terms& terms) {
  std::shared_ptr<Link> link = view().link;
  if (!link || !link->alive()) {
    const TimePoint deadline = terms.deadline;
    const std::function<Task<LinkResult>()> acquire_home = [this, deadline] {
      return acquire(deadline, nullptr);
    };
    LinkResult acquired = co_await runtime::run_on<LinkResult>(home, acquire_home);
    if (!acquired) co_return Answered(acquired.error());
    link = *acquired;
  }
  if (!link->serves(declared_for(config, call.caller.askable)) && config.instances_max > 1) {
    co_return co_await forward_at_home(call, terms);
  }
  const Forward forward{call,         terms.deadline,     terms.timeout,
                        terms.latest, call.caller.cancel, view().offers,
                        terms.told};
  Reply reply = co_await link->forward(forward);
  co_return Answered(std::move(reply), link->facts().revision);
}

Task<Answered> Lifecycle::forward_at_home(const call::Call& call, const Terms& terms) {
  const std::uint64_t ticket = ++last_ticket_;
  runtime::CancelSource::Subscription subscription;
  if (call.caller.cancel) {
    subscription = call.caller.cancel->subscribe([this, ticket](const std::string& reason) {
      home.post([this, ticket, reason] { cancel(ticket, reason); });
    });
  }
  const std::function<Task<Answered>()> at_home = [this, &call, &terms, ticket] {
    return forward_at_home_body(call, terms, ticket);
  };
  co_return co_await runtime::run_on<Answered>(home, at_home);
}

// --- On the home shard

Task<Answered> Lifecycle::forward_at_home_body(const call::Call& call, const Terms& terms,
                                               std::uint64_t ticket) {
  runtime::CancelSource cancelled;
  tickets_.emplace(ticket, &cancelled);
  last_used_ = Clock::now();
  const mcp::Askable askable = declared_for(config, call.caller.askable);
  Answered answered;
  std::shared_ptr<Link> of_task = task_places_.find(call);
  if (of_task) {
    answered = co_await forward_to_task(call, terms, std::move(of_task), cancelled);
  } else if (config.scope == config::Scope::session) {
    Members::Wanted own(owner_of(call.caller, askable), askable, false);
    if (!call.caller.session.empty()) own.extensions = std::string(call.caller.extensions);
    answered = co_await forward_over_member(call, terms, std::move(own), cancelled);
  } else {
    answered = co_await forward_over_shared(call, terms, askable, cancelled);
  }
  tickets_.erase(ticket);
  last_used_ = Clock::now();
  if (config.idle_stop) event_.wake();
  co_return answered;
}

// The first instance serves whoever can be asked what it declared; beside it there is one for every
// other set of abilities, or, with leases, one for every call. Where only one is allowed it serves
// everybody, and can ask nobody what it did not declare.
Task<Answered> Lifecycle::forward_over_shared(const call::Call& call, const Terms& terms,
                                              mcp::Askable askable,
                                              runtime::CancelSource& cancelled) {
  bool first =
      askable == declared_for(config, environment.nobody_askable) || config.instances_max < 2;
  if (!first) {
    LinkResult link = co_await acquire(terms.deadline, &cancelled);  // says which era it is
    if (!link) co_return Answered(link.error());
    first = (*link)->serves(askable);
  }
  if (first && (!leases_ || first_calls_ == 0)) {
    co_return co_await forward_over_first(call, terms, cancelled);
  }
  Members::Wanted wanted(std::string(), askable, leases_);
  co_return co_await forward_over_member(call, terms, std::move(wanted), cancelled);
}

Task<Answered> Lifecycle::forward_over_first(const call::Call& call, const Terms& terms,
                                             runtime::CancelSource& cancelled) {
  ++first_calls_;
  Answered answered;
  LinkResult link = co_await acquire(terms.deadline, &cancelled);
  if (link) {
    std::shared_ptr<Link> held = *link;
    const Forward forward{call,       terms.deadline, terms.timeout, terms.latest,
                          &cancelled, catalogue,      terms.told};
    answered.reply = co_await held->forward(forward);
    answered.from = held->facts().revision;
    task_places_.note(call, answered.reply, held);
  } else {
    answered.reply = link.error();
  }
  --first_calls_;
  co_return answered;
}

// Where the instance is that has it; it serves this besides whatever else it has.
Task<Answered> Lifecycle::forward_to_task(const call::Call& call, const Terms& terms,
                                          std::shared_ptr<Link> link,
                                          runtime::CancelSource& cancelled) {
  if (link == link_) co_return co_await forward_over_first(call, terms, cancelled);
  std::optional<Members::Loan> loan = members_.borrow_again(link, call.caller.asker.get());
  const Forward forward{call,       terms.deadline, terms.timeout, terms.latest,
                        &cancelled, catalogue,      terms.told};
  Reply reply = co_await link->forward(forward);
  co_return Answered(std::move(reply), link->facts().revision);
}

Task<Answered> Lifecycle::forward_over_member(const call::Call& call, const Terms& terms,
                                              Members::Wanted wanted,
                                              runtime::CancelSource& cancelled) {
  if (stopping_) co_return Answered(stopping_error(config.name));
  start();  // its lists are the first instance's
  wanted.asker = call.caller.asker.get();
  Result<Members::Loan> loan =
      co_await members_.borrow(std::move(wanted), terms.deadline, &cancelled);
  if (!loan) co_return Answered(loan.error());
  const Forward forward{call,       terms.deadline, terms.timeout, terms.latest,
                        &cancelled, catalogue,      terms.told};
  std::shared_ptr<Link> link = loan->link();
  Reply reply = co_await link->forward(forward);
  task_places_.note(call, reply, link);
  co_return Answered(std::move(reply), link->facts().revision);
}

// Answers with the link that is up, starting the server if need be: all callers share one start
// (case C03), and a start that just failed is not repeated for each of them.
Task<LinkResult> Lifecycle::acquire(TimePoint deadline, runtime::CancelSource* cancel) {
  if (link_ && link_->alive() && !stopping_) co_return link_;
  if (const auto refused = refused_now()) co_return *refused;
  auto waiting = std::make_shared<runtime::OneShot<LinkResult>>();
  waiting_.push_back(waiting);
  start();
  runtime::CancelSource::Subscription subscription;
  if (cancel) {
    subscription =
        cancel->subscribe([waiting](const std::string&) { waiting->set(cancelled_error()); });
  }
  runtime::Watchdog patience(home, [this, waiting] {
    waiting->set(Error("upstream.timeout",
                       fmt::format("server {} did not start in time", config.name),
                       "raise call_timeout for this server, or call again once it is up"));
  });
  if (deadline != kNever) patience.set(deadline);
  LinkResult link = co_await waiting->wait();
  co_return link;
}

void Lifecycle::cancel(std::uint64_t ticket, const std::string& reason) {
  const auto found = tickets_.find(ticket);
  if (found != tickets_.end()) found->second->cancel(reason);
}

// --- The breaker

void Lifecycle::judge(Breaker::Verdict verdict, const Reply& reply) {
  if (reply) {
    if (breaker_.succeeded(verdict)) home.post([this] { untripped(); });
  } else if (!counts_against(reply.error())) {
    breaker_.inconclusive(verdict);
  } else if (breaker_.failed(verdict, Clock::now())) {
    home.post([this, cause = reply.error()] { tripped(cause); });
  }
}

void Lifecycle::tripped(const Error& cause) {
  if (stopping_) return;
  const auto shared = std::make_shared<const Error>(redacted_error(environment, cause));
  update_views([shared](View& view) { view.tripped = shared; });
  error_ = *shared;
  retry_at_ = breaker_.retry_at();
  set_state(State::failed);
}

// It answers again: a call did, or its lists were read, or it was started anew.
void Lifecycle::untripped() {
  update_views([](View& view) { view.tripped = nullptr; });
  if (!lists_read_ || !link_ || !link_->alive()) return;
  error_.reset();
  set_state(State::ready);
}

void Lifecycle::well() {
  if (breaker_.reset()) untripped();
}

Error Lifecycle::refusal() const {
  const auto& cause = view().tripped;
  const auto left = std::chrono::duration_cast<Milliseconds>(breaker_.retry_at() - Clock::now());
  return Error(
      "upstream.breaker_open",
      fmt::format("server {} failed {} calls in a row and is left alone for now; the last "
                  "failure: {}",
                  config.name, config.breaker_failures, cause ? cause->message : "not known yet"),
      fmt::format("it is tried again in {} ms; see `mcpx servers {}`",
                  std::max<std::int64_t>(left.count(), 0), config.name));
}

}  // namespace mcpx::upstream
