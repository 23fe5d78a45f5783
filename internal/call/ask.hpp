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
};

// What the server is to be answered: exactly one of the two, both raw JSON.
struct Response {
  std::string result, error;

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
};

// Asks on the caller's shard. `withdrawn` lives on the calling one.
Task<Response> ask_caller(std::shared_ptr<Asker> asker, runtime::Shard& shard,
                          const Question& question, runtime::CancelSource& withdrawn);

}  // namespace mcpx::call
