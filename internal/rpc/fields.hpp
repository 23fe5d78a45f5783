// Fields: the spans of one message that mcpx looks at, collected member by member. Private to rpc.
//
// Two readers fill it, the fast one over simdjson On-Demand and the walker of json, and must agree.
// Spans point into the text read. Pure. Thread: any.
#pragma once

#include <optional>
#include <string_view>

#include "base/padded_buffer.hpp"
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

// Both take valid text that is an object. On-Demand refuses a few valid texts (keys with lone
// surrogates): nullopt, and the walker has to do it.
std::optional<Fields> read_on_demand(const PaddedBuffer& text);
Fields read_by_walking(json::Raw object);

}  // namespace mcpx::rpc
