// Address: a socket address of the three families mcpx uses, and its text. Internal to the room.
// Thread: any.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mcpx::net {

struct Address {
  sockaddr_storage storage = {};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;  // 0 for a Unix socket
  std::string text() const;    // "127.0.0.1:80", "[::1]:80", "unix"
};

// "127.0.0.1", "::1" and "[::1]"; nullopt for anything else, names included.
std::optional<Address> parse_ip(std::string_view host, std::uint16_t port);
// nullopt when the path does not fit into a socket address.
std::optional<Address> unix_address(std::string_view path);
Address from_sockaddr(const sockaddr* address, socklen_t size);
std::string host_and_port(std::string_view host, std::uint16_t port);

std::string errno_text(int error);  // "connection refused"

}  // namespace mcpx::net
