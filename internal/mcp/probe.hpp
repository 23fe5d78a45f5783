// Handshake: the state machine that finds a server's era and opens a session, for one connection.
//
// server/discover first; a DiscoverResult that names a modern version we speak means modern; -32022
// means modern with another version, taken from data.supported; anything else, a timeout included,
// means legacy and initialize (2026-07-28 basic/versioning and transports/stdio, "Backward
// Compatibility"; never keyed to one error code). `protocol:` of the configuration pins the era:
// modern never falls back, legacy never probes. A known era that is refuted is given up once. A
// server that was silent when probed, and then refuses initialize, was only slow to start: it is
// asked to discover itself once more, with all the time that is left.
//
// Over HTTP the status counts too (2026-07-28 basic/transports/streamable-http, "Backward
// Compatibility"): a modern error with 400, 404 or 405 means modern; 401, 403, 407, 429 and what a
// gateway says (502 to 504) say nothing about the era and end the handshake; an `initialize`
// refused with 400, 404 or 405 is tried again over HTTP+SSE (2024-11-05).
//
// The driver sends what it is told and feeds back what arrives; `now` never matters here, timeouts
// are events. Pure. Thread: any, one at a time.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "json/json.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {

// What the handshake learnt about a server. Raw JSON is kept as text of its own.
struct ServerFacts {
  Revision revision = kLatestLegacy;
  std::string capabilities = "{}";  // raw object
  std::string server_info;          // raw object; empty if it named none
  std::string instructions;         // raw string token; empty if none
  // Of a modern server's DiscoverResult: how long it may be kept, and until when that is by the
  // clock of whoever drives the handshake (kNever: nobody has said).
  std::int64_t ttl_ms = 0;
  bool is_private = false;
  TimePoint fresh_until = kNever;
  // False when the server was taken for legacy because its modern answer did not come (a time-out
  // or a failure over HTTP): not to be remembered.
  bool era_is_certain = true;
  Era era() const { return era_of(revision); }
};

enum class Protocol : std::uint8_t { automatic, modern, legacy };  // `protocol:` per server

class Handshake {
 public:
  struct Options {
    Protocol protocol = Protocol::automatic;
    std::optional<Era> known_era;  // from an earlier instance of the same configuration
    std::string client_info;       // raw Implementation object
    std::string client_capabilities = "{}";
    bool over_http = false;
    bool only_event_stream = false;  // HTTP+SSE by configuration: nothing is probed
  };

  // What the driver must do next.
  struct SendRequest {
    std::string method;
    std::string params;  // raw object
    bool is_probe;       // waits only for the probe time-out; its failure is an answer
  };
  struct SendNotification {
    std::string method;  // then call step(Sent)
  };
  struct OpenEventStream {};  // HTTP+SSE: then call step(StreamOpened) or step(StreamRefused)
  struct Done {
    ServerFacts facts;
  };
  struct Failed {
    Error error;  // upstream.handshake: what was wrong with the answer; or the link's own
  };
  using Action = std::variant<SendRequest, SendNotification, OpenEventStream, Done, Failed>;

  // What happened to the last action.
  struct Start {};
  struct GotResult {
    json::Raw result;
  };
  struct GotError {
    json::Raw error;
    unsigned http_status = 0;  // 0: not over HTTP
  };
  struct Refused {  // an HTTP answer without a JSON-RPC response in it
    unsigned http_status;
    Error error;
  };
  struct TimedOut {};
  struct Sent {};
  struct StreamOpened {};
  struct StreamRefused {
    Error error;
  };
  using Event = std::variant<Start, GotResult, GotError, Refused, TimedOut, Sent, StreamOpened,
                             StreamRefused>;

  explicit Handshake(Options options);
  Action step(const Event& event);

 private:
  enum class State : std::uint8_t {
    idle,
    discovering,
    initializing,
    opening_stream,
    announcing,
    ended
  };
  Action start();
  Action discover(Revision revision);
  Action initialize();
  Action after_discover(const Event& event);
  Action after_discover_result(json::Raw result);
  Action after_discover_error(const GotError& got);
  Action after_unsupported(json::Raw error);
  Action after_initialize(const Event& event);
  Action after_initialize_error(const GotError& got);
  Action after_initialize_refused(const Refused& refused);
  Action open_stream(Error refusal);
  Action after_open_stream(const Event& event);
  // Modern, but without a server/discover that would say what it offers: its lists will.
  Action assume_modern();
  Action accept_initialize(json::Raw result);
  // Not modern: on to initialize where that is allowed and was not tried, else the end.
  Action not_modern(std::string why);
  // initialize was refused: on to discover if a known era alone kept us from it, else the end.
  Action not_legacy(std::string why);
  Action failed(std::string why, std::string remedy = {});
  Action failed_with(Error error);
  Action inconclusive(std::string_view method, const GotError& got);

  Options options_;
  State state_ = State::idle;
  Revision offered_ = kLatestModern;
  unsigned discover_attempts_ = 0;
  bool probe_timed_out_ = false;  // so that whoever refuses initialize is asked once more
  bool initialize_tried_ = false;
  bool has_stream_ = false;       // HTTP+SSE from here on
  Error stream_reason_;           // why it was tried: how Streamable HTTP refused `initialize`
  std::string discover_refusal_;  // why the server is not taken for modern; empty if not asked
  ServerFacts facts_;
};

// The _meta object of a modern request of ours: protocolVersion, clientInfo, clientCapabilities.
std::string modern_meta(Revision revision, std::string_view client_info,
                        std::string_view client_capabilities);

}  // namespace mcpx::mcp
