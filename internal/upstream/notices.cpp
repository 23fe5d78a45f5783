// What clients say in terms of extensions, on its way to the server (2026-07-28 basic/versioning,
// "Extension Negotiation"). It goes where the client's calls go, as far as that is of one client.
#include <utility>

#include "log/log.hpp"
#include "upstream/hop.hpp"
#include "upstream/lifecycle.hpp"
#include "upstream/questions.hpp"

namespace mcpx::upstream {
namespace {

// On their way at once. A notification has no answer that would slow down who sends too many.
constexpr std::size_t kNotices = 256;

Task<Result<void>> send(Link& link, const ClientNotice& notice) {
  std::string params = notice_params(notice.params, notice.revision, link.facts().revision);
  co_return co_await link.notify(notice.method, std::move(params));
}

}  // namespace

void Lifecycle::pass_on(ClientNotice notice) {
  if (stopping_) return;
  if (notices_ >= kNotices) {
    return log::debug("server {}: too many notifications wait; {} was dropped", config.name,
                      notice.method);
  }
  ++notices_;
  tasks_.spawn("notification", deliver(std::move(notice)));
}

Task<void> Lifecycle::deliver(ClientNotice notice) {
  const TimePoint deadline = Clock::now() + config.start_timeout;
  last_used_ = Clock::now();
  const bool own = config.scope == config::Scope::session;
  Result<void> sent;
  if (own) {
    sent = co_await deliver_to_own(notice, deadline);
  } else {
    sent = co_await deliver_to_first(notice, deadline);
  }
  --notices_;
  if (!sent) {
    log::debug("server {}: {} was not passed on: {}", config.name, notice.method,
               sent.error().message);
  }
}

Task<Result<void>> Lifecycle::deliver_to_own(const ClientNotice& notice, TimePoint deadline) {
  call::Caller caller;
  caller.session = notice.session;
  caller.principal = notice.principal;
  const mcp::Askable askable = declared_for(config, notice.askable);
  Members::Wanted wanted(owner_of(caller, askable), askable, false);
  if (!notice.session.empty()) wanted.extensions = notice.extensions;
  Result<Members::Loan> loan = co_await members_.borrow(std::move(wanted), deadline, nullptr);
  if (!loan) co_return loan.error();
  co_return co_await send(*loan->link(), notice);
}

Task<Result<void>> Lifecycle::deliver_to_first(const ClientNotice& notice, TimePoint deadline) {
  LinkResult link = co_await acquire(deadline, nullptr);
  if (!link) co_return link.error();
  const std::shared_ptr<Link> held = *link;
  co_return co_await send(*held, notice);
}

}  // namespace mcpx::upstream
