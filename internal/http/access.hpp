// Access: who may come in over TCP, to which paths, and how often. Made from the configuration and
// shared by the connections of all shards, until a reload puts another one in its place.
//
// Tokens are compared as digests, all of them and in constant time, so that the time of an answer
// tells nothing about what would have been right. What is counted per token is counted in atomics:
// it bounds, and orders nothing. Thread: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http1/message.hpp"

namespace mcpx::http {

struct Token {
  std::string name;
  std::string sha256;              // 64 lower-case digits
  std::vector<std::string> paths;  // "/mcp/files", or "/mcp/*" for it and everything below
};

struct AccessOptions {
  std::vector<Token> tokens;            // empty: everybody is let in, as one client without a name
  std::size_t requests = 4096;          // of one client in progress at once
  std::size_t requests_per_second = 0;  // of one client; 0: not bounded
  std::size_t burst = 100;              // at once above that rate
};

// Why a request is not served: its status, its cause, and fields the answer owes.
struct Refused {
  Refused() = default;  // what result<T, Refused>::error() answers when there is none
  Refused(unsigned status_in, Error error_in) : status(status_in), error(std::move(error_in)) {}
  unsigned status = 0;
  Error error;
  std::string challenge;                // WWW-Authenticate, or empty
  std::size_t retry_after_seconds = 0;  // Retry-After, or 0
};

// One client as it is counted: the holder of a token, or all there are without tokens.
class Principal;

class Access {
 public:
  explicit Access(AccessOptions options);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

  bool asks() const { return !options_.tokens.empty(); }
  bool counts_turns() const { return options_.requests_per_second != 0; }

  // Who sent this head, or why it is not let in: 401 without a token that is known, 400 when what
  // it shows is malformed, 403 for a path that the token is not for. A request over a Unix socket,
  // whose file is the user's own, needs no token, but one that is shown has to be right.
  enum class Need { token, nothing };
  boost::system::result<const Principal*, Refused> admit(const http1::RequestHead& head,
                                                         Need need) const;

  // 429 when the client asks too often. Takes the request into account otherwise. To be asked when
  // counts_turns().
  std::optional<Refused> take_turn(const Principal& principal, TimePoint now) const;
  // 503 when too much of the client's is in progress; leave() when that is answered.
  std::optional<Refused> enter(const Principal& principal) const;
  void leave(const Principal& principal) const;

  static std::string_view name(const Principal& principal);  // of its token; empty without

 private:
  const Principal* find(std::string_view sha256) const;

  AccessOptions options_;
  std::vector<std::unique_ptr<Principal>> principals_;  // one per token, and the one without
};

}  // namespace mcpx::http
