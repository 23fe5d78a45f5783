// Cursors of lists that are sent in pages.
//
// A cursor says behind which entry the next page begins: the server it is of, the server's place in
// the configuration, and digests of that entry and of some before it, in case it is gone by then.
// So it stays good while servers come and go, and over a restart: no entry is sent twice, and none
// that stayed is left out. It is checked by a digest over what it is for, so that one that was cut,
// made up or given out for another list is found out. That is no secret, as a cursor leads nowhere
// that its holder may not read from the start. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/method.hpp"
#include "registry/view.hpp"

namespace mcpx::registry {

struct Position {
  std::string server;
  std::uint32_t place = 0;             // of the server, in the configuration
  std::vector<std::uint64_t> anchors;  // of its entries up to there, the last one first
};

std::string write_cursor(std::string_view endpoint, mcp::ListKind kind, const Position& position);
// nullopt for what write_cursor() did not make of that endpoint and list.
std::optional<Position> read_cursor(std::string_view endpoint, mcp::ListKind kind,
                                    std::string_view cursor);

// The position behind the first `count` entries; count is at least 1.
Position position_behind(const ListView& list, std::size_t count);
// How many entries of the list, as it is now, stand before the position.
std::size_t entries_before(const ListView& list, const Position& position);

}  // namespace mcpx::registry
