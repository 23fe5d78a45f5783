// The one ByteStream over a real descriptor. Internal to the room.
// Thread: home shard of the shard given.
#pragma once

#include <memory>
#include <string>

#include "net/descriptor.hpp"
#include "net/stream.hpp"
#include "runtime/shard.hpp"

namespace mcpx::net {

// Takes over a non-blocking descriptor. TCP sockets get TCP_NODELAY.
std::unique_ptr<ByteStream> make_stream(runtime::Shard& shard, Descriptor descriptor,
                                        std::string peer);

}  // namespace mcpx::net
