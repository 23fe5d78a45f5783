// Questions: what servers asked while no client could answer, until it is answered, and for a while
// after: who answered it, when, and from where.
//
// An answer is kept before anybody is told of it, and what it says only until its server has it.
// Errors are those of Store. Thread: any shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/task.hpp"

namespace mcpx::store {

class Store;

struct QuestionRow {
  std::string id;
  std::string state;            // pending, answered, expired, withdrawn, orphaned
  std::string server;           // who asks
  std::string target;           // the tool, prompt or resource that was called; may be empty
  std::string method, kind;     // elicitation/create; form, url, sampling, roots
  std::string params;           // raw, as the server sent it
  std::string call_key;         // digest of call and question: who asks the same again
  std::string principal;        // of the call; empty: the local user, or none
  std::string client;           // its name; may be empty
  std::string redrive;          // how the call is made again after a restart; may be empty
  std::int64_t created_at = 0;  // Unix milliseconds, as all of these
  std::int64_t expires_at = 0;
  std::string action;         // accept, decline, cancel, error
  std::string result, error;  // the answer, until its server has it
  std::int64_t answered_at = 0;
  std::string surface;      // cli, rest, rule, policy, expiry
  std::string answered_by;  // the name of the token, or of the rule; may be empty
  bool used = false;        // the server has the answer
};

class Questions {
 public:
  explicit Questions(Store& store) : store_(store) {}

  // Inserts, or writes over. Survives a power cut.
  Task<Result<void>> put(QuestionRow row);
  // The server has the answer: what it says is forgotten. Nobody waits.
  void used(std::string id);
  // Pending ones, and answers that no server has yet, the oldest first.
  Task<Result<std::vector<QuestionRow>>> open();
  // The newest first, without their params; `state` empty: all.
  Task<Result<std::vector<QuestionRow>>> list(std::string state, std::size_t limit);
  Task<Result<std::optional<QuestionRow>>> find(std::string id);
  // Keeps that many settled ones.
  void prune(std::size_t history);

 private:
  Store& store_;
};

}  // namespace mcpx::store
