// Asker: how a caller is asked something while its call runs; Question and Response, what it is
// asked and what it says.
//
// A link hands a server's question to the Asker of the call that it belongs to and gets exactly one
// Response, whatever happens: the client's, or why there is none. Thread: the caller's shard,
// except ask_caller(), which goes there and comes back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "json/json.hpp"
#include "mcp/asking.hpp"
#include "runtime/cancel.hpp"
#include "runtime/shard.hpp"
#include "runtime/task.hpp"

namespace mcpx::call {

struct Question {
  Question(mcp::QuestionKind kind_in, std::string_view method_in, std::string_view params_in,
           std::string_view server_in)
      : kind(kind_in), method(method_in), params(params_in), server(server_in) {}
  mcp::QuestionKind kind;
  std::string method;  // as on the wire
  std::string params;  // raw object, as the server sent it; may be empty
  std::string server;  // the name of who asks
  std::string id;      // of its request, a raw token; empty: it has none
};

// What the server is to be answered: exactly one of the two, both raw JSON.
struct Response {
  std::string result, error;
  bool unreachable = false;  // the client is gone: somebody else may be asked in its place
  bool interrupted = false;  // mcpx is stopping: the question is asked again by the next one

  static Response of_result(std::string raw);
  static Response of_error(std::string raw);
  // Nobody answered: what that is for a question of this kind.
  static Response none(mcp::QuestionKind kind, std::string_view why);
};

class Asker {
 public:
  virtual ~Asker() = default;
  // Ends with the client's answer, when nobody may be waited for any longer, or when `withdrawn`
  // fires because the server wants no answer any more; outlived by neither argument.
  virtual Task<Response> ask(const Question& question, runtime::CancelSource& withdrawn) = 0;
  // Since when the call goes on without its client, as a modern one's does between two requests;
  // kNever: the client is there. Any thread.
  virtual TimePoint away_since() const { return kNever; }
  // Others need the place such a call has at its server: ends it, if it still is one. Any thread.
  virtual void give_way() {}
};

// Hears that the user is done with what a question in URL mode sent them to (2025-11-25
// client/elicitation, "Completion Notifications for URL Mode Elicitation").
class Completion {
 public:
  virtual ~Completion() = default;
  // The notification's raw params, as the server sent them. Any thread.
  virtual void complete(std::string params) = 0;
};

// Asks on the caller's shard. `withdrawn` lives on the calling one.
Task<Response> ask_caller(std::shared_ptr<Asker> asker, runtime::Shard& shard,
                          const Question& question, runtime::CancelSource& withdrawn);

}  // namespace mcpx::call
