// Handshake: the state machine that finds a server's era and opens a session, for one connection.
//
// server/discover first; a DiscoverResult that names a modern version we speak means modern; -32022
// means modern with another version, taken from data.supported; anything else, a timeout included,
// means legacy and initialize (2026-07-28 basic/versioning and transports/stdio, "Backward
// Compatibility"; never keyed to one error code). `protocol:` of the configuration pins the era:
// modern never falls back, legacy never probes. A known era that is refuted is given up once.
//
// The driver sends what it is told and feeds back what arrives; `now` never matters here, timeouts
// are events. Pure. Thread: any, one at a time.
#pragma once

#include <optional>
#include <string>
#include <variant>

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
  struct Done {
    ServerFacts facts;
  };
  struct Failed {
    Error error;  // upstream.handshake: what was wrong with the answer
  };
  using Action = std::variant<SendRequest, SendNotification, Done, Failed>;

  // What happened to the last action.
  struct Start {};
  struct GotResult {
    json::Raw result;
  };
  struct GotError {
    json::Raw error;
  };
  struct TimedOut {};
  struct Sent {};
  using Event = std::variant<Start, GotResult, GotError, TimedOut, Sent>;

  explicit Handshake(Options options);
  Action step(const Event& event);

 private:
  enum class State : std::uint8_t { idle, discovering, initializing, announcing, ended };
  Action discover(Revision revision);
  Action initialize();
  Action after_discover(const Event& event);
  Action after_discover_result(json::Raw result);
  Action after_unsupported(json::Raw error);
  Action after_initialize(const Event& event);
  Action accept_initialize(json::Raw result);
  // Not modern: on to initialize where that is allowed and was not tried, else the end.
  Action not_modern(std::string why);
  // initialize was refused: on to discover if a known era alone kept us from it, else the end.
  Action not_legacy(std::string why);
  Action failed(std::string why, std::string remedy = {});

  Options options_;
  State state_ = State::idle;
  Revision offered_ = kLatestModern;
  unsigned discover_attempts_ = 0;
  bool initialize_tried_ = false;
  std::string discover_refusal_;  // why the server is not taken for modern; empty if not asked
  ServerFacts facts_;
};

// The _meta object of a modern request of ours: protocolVersion, clientInfo, clientCapabilities.
std::string modern_meta(Revision revision, std::string_view client_info,
                        std::string_view client_capabilities);

}  // namespace mcpx::mcp
