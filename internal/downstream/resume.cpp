#include "downstream/resume.hpp"

#include <algorithm>
#include <utility>

#include "downstream/answer.hpp"
#include "downstream/replays.hpp"
#include "downstream/session_stream.hpp"
#include "rpc/message.hpp"
#include "runtime/hop.hpp"

namespace mcpx::downstream {
namespace {

struct Found {
  Found() = default;
  std::shared_ptr<EventStream> stream;  // null: there is none
  EventStream::ReaderPtr reader;
};

Task<Found> attach_there(Core& core, runtime::Shard& shard, SessionPtr session, EventId id) {
  Found found;
  found.stream = core.local(shard).replays.find(id, *session);
  // One of the session's own that is over would only end again: there is a newer one, or will be.
  const bool over = found.stream && found.stream->closed() && id.kind == EventId::Kind::session;
  if (over) found.stream = nullptr;
  if (found.stream) found.reader = found.stream->attach(id.event);
  co_return found;
}

Task<Found> attach(Core& core, const SessionPtr& session, const std::string& last) {
  const std::optional<EventId> id = parse_event_id(last);
  const bool ours = id && id->run == core.run;
  const auto home = std::find_if(core.shards.begin(), core.shards.end(), [&](const auto* shard) {
    return ours && shard->index() == id->shard;
  });
  if (home == core.shards.end()) co_return Found();
  runtime::Shard& shard = **home;
  const std::function<Task<Found>()> there = [&core, &shard, session, id = *id] {
    return attach_there(core, shard, session, id);
  };
  co_return co_await runtime::run_on<Found>(shard, there);
}

Task<void> refuse_rest(http::Exchange& exchange) {
  json::ObjectBuilder data;
  data.string("code", "stream.unknown");
  data.string("remedy",
              "make the request again; for the session's own stream leave the header out");
  const std::string body = data.take();
  const std::string message = "Bad Request: Last-Event-ID leads to no stream of this session";
  co_await send_error(exchange, 400, json::Raw(), rpc::kInvalidRequest, message, body);
}

}  // namespace

Task<void> serve_rest(Core& core, http::Exchange& exchange, SessionPtr session, std::string last) {
  SessionUse use(*session);
  Found found = co_await attach(core, session, last);
  if (!found.stream) {
    // The session's own stream goes on with what comes from now on.
    const std::optional<EventId> id = parse_event_id(last);
    const bool own = id && id->kind == EventId::Kind::session;
    if (own) co_return co_await serve_session_stream(core, exchange, std::move(session));
    co_return co_await refuse_rest(exchange);
  }
  const Result<void> begun = co_await exchange.begin_stream(kNoFields);
  if (begun) {
    co_await write_events(exchange, found.stream, found.reader, kKeepAlive);
  } else {
    found.stream->leave(found.reader);
  }
}

}  // namespace mcpx::downstream
