// The routes of questions that wait for somebody: /v1/elicitations and /v1/events. Internal to the
// room. Thread: the exchange's shard.
#pragma once

#include <memory>
#include <string_view>

#include "admin/reply.hpp"
#include "broker/broker.hpp"

namespace mcpx::admin {

class Admin;

// GET /v1/elicitations[?state=...], GET /v1/elicitations/{id},
// POST /v1/elicitations/{id}/{accept|decline|cancel}; `rest` is what follows /v1/.
Task<Reply> serve_question(http::Exchange& exchange, broker::Broker& broker,
                           std::shared_ptr<const Redactor> redactor, std::string_view rest);

// GET /v1/events: what happens to questions, as Server-Sent Events, from `Last-Event-ID` on.
Task<void> follow_events(http::Exchange& exchange, broker::Broker& broker, const Admin& admin);

}  // namespace mcpx::admin
