// InFlight: the requests of legacy sessions that one shard is serving, so that
// notifications/cancelled finds them. Entries live in the frames that serve the requests and link
// themselves in: nothing is allocated, and only a cancellation walks the list.
// Thread: home shard only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "downstream/session.hpp"
#include "json/json.hpp"
#include "runtime/cancel.hpp"

namespace mcpx::downstream {

class InFlight {
 public:
  class Entry {
   public:
    // `id` is the raw token; it and the others outlive the entry.
    Entry(InFlight& list, const Session& session, json::Raw id, runtime::CancelSource& source)
        : list_(list), session_(session), id_(id), source_(source), next_(list.first_) {
      if (next_) next_->previous_ = this;
      list.first_ = this;
    }
    ~Entry() {
      if (next_) next_->previous_ = previous_;
      (previous_ ? previous_->next_ : list_.first_) = next_;
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class InFlight;
    InFlight& list_;
    const Session& session_;
    json::Raw id_;
    runtime::CancelSource& source_;
    Entry* previous_ = nullptr;
    Entry* next_;
  };

  void cancel(const Session& session, json::Raw id, const std::string& reason) {
    cancel_if(session, &id, reason);
  }
  void cancel_all(const Session& session, const std::string& reason) {
    cancel_if(session, nullptr, reason);
  }

 private:
  void cancel_if(const Session& session, const json::Raw* id, const std::string& reason) {
    std::vector<runtime::CancelSource*> matching;  // first collected: a callback may unlink
    for (Entry* entry = first_; entry; entry = entry->next_) {
      if (&entry->session_ == &session && (!id || entry->id_ == *id)) {
        matching.push_back(&entry->source_);
      }
    }
    for (runtime::CancelSource* source : matching)
      source->cancel(reason);
  }

  Entry* first_ = nullptr;
};

}  // namespace mcpx::downstream
