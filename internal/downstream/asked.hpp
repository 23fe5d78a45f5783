// Asked: the questions that legacy clients of one shard have on the wire, by ids of our own, so
// that their responses, which are POSTs of their own, find who waits.
//
// An id says which shard waits and which daemon asked: a client may answer one of its last
// session's questions after a restart. Ids never meet those of the client's requests, and whatever
// else comes as a response is ignored. Thread: home shard only, except the ids, which are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call/ask.hpp"
#include "downstream/session.hpp"
#include "json/json.hpp"
#include "runtime/one_shot.hpp"

namespace mcpx::downstream {

struct QuestionId {
  std::size_t shard = 0;
  std::uint64_t number = 0;
};
// A raw token; `daemon` tells this run of the daemon from all others.
std::string question_id(std::string_view daemon, QuestionId id);
std::optional<QuestionId> parse_question_id(std::string_view daemon, json::Raw token);

class Asked {
 public:
  // One question on the wire; lives in the frame that waits for its answer.
  class Entry {
   public:
    Entry(Asked& list, const Session& session) : list_(list), session_(session) {
      number_ = ++list.last_;
      list.entries_.push_back(this);
    }
    ~Entry() { std::erase(list_.entries_, this); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    std::uint64_t number() const { return number_; }
    // nullopt: nobody is waited for any longer.
    runtime::OneShot<std::optional<call::Response>> answer;

   private:
    friend class Asked;
    Asked& list_;
    const Session& session_;
    std::uint64_t number_;
  };

  // The client's response. Only its own session may answer a question.
  void take(const Session& session, std::uint64_t number, const call::Response& response) {
    for (Entry* entry : entries_) {
      if (entry->number_ != number || &entry->session_ != &session) continue;
      entry->answer.set(response);
      return;
    }
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::uint64_t last_ = 0;
  std::vector<Entry*> entries_;
};

}  // namespace mcpx::downstream
