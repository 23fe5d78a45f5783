// Calls: tool calls made over /v1 that do not wait for answers to questions: what is asked comes
// back to who called, the call goes on here, and its outcome is fetched with its id.
//
//   POST /v1/tools/{name}/call {"questions":"return"}  -> 200 {"result"}, or
//   202 {"call":"c-...","questions":[...]}
//   GET /v1/calls/{id}?wait=SECONDS[&after=QUESTION]   -> the same; 202 without questions: it runs,
//     or nothing is asked but what is known already
//
// Bounded in number; an outcome nobody fetches is forgotten after ten minutes, and a call ends with
// its questions and its own deadline. Thread: the broker's home, except begin() and serve(): any.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "admin/reply.hpp"
#include "base/redact.hpp"
#include "broker/broker.hpp"
#include "registry/snapshot.hpp"
#include "runtime/task_group.hpp"

namespace mcpx::admin {

struct CallStart {
  CallStart(std::shared_ptr<const registry::Endpoint> holds_in, upstream::Server& server_in,
            std::string params_in)
      : holds(std::move(holds_in)), server(&server_in), params(std::move(params_in)) {}
  std::shared_ptr<const registry::Endpoint> holds;  // keeps the server there
  upstream::Server* server;
  std::string params, principal;
  mcp::Askable askable = 0;
  std::size_t rounds = 0;  // of questions, at most
};

class Calls {
 public:
  static constexpr std::size_t kAtMost = 256;

  using RedactorPtr = std::shared_ptr<const Redactor>;

  explicit Calls(broker::Broker& broker);
  ~Calls();

  // A caller that goes away before anything was asked cancels its call.
  Task<Reply> begin(http::Exchange& exchange, CallStart start, RedactorPtr redactor);
  // `rest` is what follows /v1/calls/.
  Task<Reply> serve(http::Exchange& exchange, std::string_view rest, RedactorPtr redactor);
  Task<void> stop();

 private:
  struct Held;
  using HeldPtr = std::shared_ptr<Held>;
  struct Wish;  // what a request to wait says
  Task<Reply> begin_home(std::shared_ptr<Wish> wish, CallStart start, RedactorPtr redactor);
  void leave(Wish& wish);
  void abandon(const std::string& id);
  Task<Reply> wait_home(std::shared_ptr<Wish> wish, RedactorPtr redactor);
  Task<Reply> wait(HeldPtr held, std::shared_ptr<Wish> wish, RedactorPtr redactor);
  Task<void> run(HeldPtr held);
  std::string open_questions(const Held& held, std::string_view known) const;
  void sweep();

  broker::Broker& broker_;
  std::unordered_map<std::string, HeldPtr> calls_;
  bool closing_ = false;
  runtime::TaskGroup tasks_;
};

}  // namespace mcpx::admin
