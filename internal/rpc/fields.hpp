// Fields: the spans of one message that mcpx looks at, collected member by member. Private to rpc.
//
// Spans point into the text read. Pure. Thread: any.
#pragma once

#include <string_view>

#include "json/json.hpp"

namespace mcpx::rpc {

struct Fields {
  json::Raw jsonrpc, id, method, params, result, error;
  json::Raw name, uri, task_id, cursor, meta, arguments;  // of params
  // The first protocol key that stands there twice: two readers could take different ones.
  std::string_view duplicate;
  bool id_twice = false;  // then there is no id to answer to

  // `key` is unescaped.
  void top(std::string_view key, json::Raw value);
  void param(std::string_view key, json::Raw value);

 private:
  void keep(json::Raw& slot, json::Raw value, std::string_view key);
};

// Of valid text that is an object.
Fields read_fields(json::Raw object);

}  // namespace mcpx::rpc
