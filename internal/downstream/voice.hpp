// Voice: where a legacy client is told something while its call runs, and asked: the stream of the
// call, or the one that it has for everything. Thread: its shard.
#pragma once

#include <string>

#include "call/call.hpp"

namespace mcpx::downstream {

class Voice : public call::NotificationSink {
 public:
  // Like notify(), but never dropped. False: the client gets nothing more.
  virtual bool ask(std::string json) = 0;
  virtual bool resumable() const = 0;  // a client that loses the connection may come back for it
  virtual bool heard() const { return true; }  // as far as is known, it has not lost it
};

}  // namespace mcpx::downstream
