// GET /v1/events.
#include <utility>

#include "admin/admin.hpp"
#include "admin/questions.hpp"
#include "admin/render.hpp"

namespace mcpx::admin {
namespace {

constexpr Milliseconds kKeepAlive{15'000};

// What a reader that missed something is told: to look for itself.
constexpr std::string_view kMissed = R"({"type":"events.missed"})";

}  // namespace

Task<void> follow_events(http::Exchange& exchange, broker::Broker& broker, const Admin& admin) {
  if (exchange.head().method != "GET") {
    const Reply refusal = Reply::wrong_method("GET");
    co_return co_await respond(exchange, refusal);
  }
  std::string last(exchange.head().fields.find("Last-Event-ID").value_or(""));
  broker::Batch batch = co_await broker.events(last, Milliseconds(0));
  if (batch.full) {
    const Reply refusal =
        Reply::error(503, Error("admin.too_many_readers", "too many follow the events already",
                                "close some, or poll GET /v1/elicitations"));
    co_return co_await respond(exchange, refusal);
  }
  const std::span<const http1::Field> none;
  Result<void> sent = co_await exchange.begin_stream(none);
  // A client that goes away is noticed at once, not at the next event.
  const auto gone =
      exchange.gone().subscribe([&broker](const std::string&) { broker.wake_readers(); });
  while (sent) {
    if (batch.missed) sent = co_await exchange.send_event(kMissed, batch.last);
    for (const broker::Event& event : batch.events) {
      if (!sent) break;
      const std::string text = redact_json(event.json, *admin.redactor());
      sent = co_await exchange.send_event(text, event.id);
    }
    if (!sent || admin.closing() || exchange.gone().cancelled()) break;
    if (batch.events.empty() && !batch.missed) sent = co_await exchange.send_keep_alive();
    if (!sent) break;
    last = batch.last;
    batch = co_await broker.events(last, kKeepAlive);
    if (batch.full) break;
  }
  if (sent) co_await exchange.end_stream();
}

}  // namespace mcpx::admin
