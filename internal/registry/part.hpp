// Part: what one server contributes to one endpoint, each item under the name it is shown by.
//
// Made from a catalogue and kept from snapshot to snapshot for as long as the server lists the
// same; texts that are the catalogue's own are not copied. Immutable once made. Thread: any.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mcp/method.hpp"
#include "upstream/catalogue.hpp"

namespace mcpx::upstream {
class Server;
}
namespace mcpx::config {
struct Server;
}

namespace mcpx::registry {

struct Source {
  upstream::Server* server = nullptr;  // there as long as an endpoint that shows it
  std::shared_ptr<const config::Server> config;
  std::string name, prefix;
  std::size_t place = 0;  // in the configuration
  bool own_uris = false;  // the endpoint shows its URIs as they are
  bool tasks = false;     // its server may answer a call with a task
  std::shared_ptr<const upstream::Catalogue> catalogue;
};

// One tool, prompt, resource, template or skill.
struct Entry {
  const Source* source;
  std::string_view exposed;     // name or URI, as the endpoint shows it
  std::string_view original;    // as the server knows it
  std::string_view definition;  // raw object, with the exposed name
  bool app_only = false;        // a tool that is not for models
};

using Names = std::unordered_map<std::string_view, const Entry*>;

struct Part {
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // Keeps a text for as long as the part lives.
  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
  const std::vector<Entry>& of(mcp::ListKind kind) const {
    return entries[static_cast<std::size_t>(kind)];
  }

  Source source;
  std::array<std::vector<Entry>, mcp::kListKinds> entries;
  std::deque<std::string> texts;
  bool renamed = false;  // a name was taken by another server, so it holds for one snapshot only
};

}  // namespace mcpx::registry
