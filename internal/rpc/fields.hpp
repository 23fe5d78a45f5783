// Fields: the spans of one message that mcpx looks at, noted while its text is validated. Private
// to rpc.
//
// Spans point into the text read. Pure. Thread: any.
#pragma once

#include <string_view>

#include "json/json.hpp"

namespace mcpx::rpc {

struct Fields final : json::MemberWatch {
  json::Raw jsonrpc, id, method, params, result, error;
  json::Raw name, uri, task_id, cursor, meta, arguments;  // of params
  // The first protocol key that stands there twice: two readers could take different ones.
  std::string_view duplicate;
  bool id_twice = false;  // then there is no id to answer to

  json::Raw* member(json::Raw key, std::size_t level) override;

 private:
  json::Raw* slot_of(std::string_view key, std::size_t level);
  json::Raw* top(std::string_view key);
  json::Raw* param(std::string_view key);
  json::Raw* once(json::Raw& slot, std::string_view key);

  bool in_params_ = false;
};

// Of valid text that is an object.
Fields read_fields(json::Raw object);

}  // namespace mcpx::rpc
