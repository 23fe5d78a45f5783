// Opener: how a link to one server is opened, whoever wants it: its turn among the starts of the
// daemon, the process or the URL, the era, the handshake, the deadline.
//
// The era is a property of the configuration, not of a process (2026-07-28 basic/versioning): the
// first link finds it, the later ones start from it, and one that refutes it makes it be found
// anew. Thread: home shard.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "upstream/link.hpp"

namespace mcpx::upstream {

using LinkResult = Result<std::shared_ptr<Link>>;

// What whoever waits is told when the server of that name is done with.
Error stopping_error(const std::string& server);

class Opener {
 public:
  Opener(runtime::Shard& home, const config::Server& config, const Environment& environment);

  // What a link is opened for: what may be asked through it, and whether all its calls will be of
  // one client.
  struct Purpose {
    explicit Purpose(mcp::Askable askable_in, bool one_caller_in = false)
        : askable(askable_in), one_caller(one_caller_in) {}
    mcp::Askable askable;
    bool one_caller;
    // What it declares, as a raw map; nullopt: what every endpoint carries.
    std::optional<std::string> extensions;
  };
  // An open link with its handshake done; at most start_timeout after its turn came.
  Task<LinkResult> open(LinkEvents events, Purpose purpose);
  // Makes what is being opened fail now, and everything after it.
  void stop();

  std::optional<mcp::Era> era() const { return era_; }
  void assume(mcp::Era era) { era_ = era; }  // what an earlier daemon found out
  // Called when what is known of the era changes, with the revision it was found by.
  using OnEra = std::function<void(std::optional<mcp::Revision>)>;
  void on_era(OnEra changed) { on_era_ = std::move(changed); }
  const std::vector<std::string>& stderr_of_failure() const { return stderr_; }

 private:
  Task<LinkResult> open_once(LinkEvents events, Purpose purpose, std::optional<mcp::Era> known_era,
                             TimePoint deadline);
  Result<std::shared_ptr<Link>> open_http(LinkContext context);
  Task<Error> close_failed(std::shared_ptr<Link> link, Error error);
  void learn(std::optional<mcp::Revision> revision);

  runtime::Shard& home_;
  const config::Server& config_;
  const Environment& environment_;
  std::optional<mcp::Era> era_;
  OnEra on_era_;
  std::vector<std::shared_ptr<Link>> opening_;
  std::shared_ptr<const net::TlsContext> tls_;  // of all its links; null until one needs it
  std::vector<std::string> stderr_;             // of the last one that did not open
  bool stopping_ = false;
};

}  // namespace mcpx::upstream
