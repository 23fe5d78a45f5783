// `clients:` of the configuration: what clients of some name are shown differently.
#include <array>

#include "config/keys.hpp"

namespace mcpx::config {
namespace {

constexpr std::size_t kLongestPattern = 128;

void read_max(Context& context, const Field& field, Client& client) {
  std::size_t max = 0;
  read_integer(context, field, kNamesLeast, kNamesMost, max);
  if (max != 0) client.names_max = max;
}

void read_charset(Context& context, const Field& field, Client& client) {
  static constexpr std::array<std::string_view, 2> kCharsets = {"dashes", "word"};
  std::size_t index = 0;
  if (read_choice(context, field, kCharsets, index)) {
    client.names_charset = static_cast<NameCharset>(index);
  }
}

constexpr std::array<Key<Client>, 2> kClientNames = {{
    {"max", read_max, "max: 48"},
    {"charset", read_charset, "charset: word"},
}};

void read_client_names(Context& context, const Field& field, Client& client) {
  read_mapping(context, field, std::span<const Key<Client>>(kClientNames), client);
}

void read_client_page_size(Context& context, const Field& field, Client& client) {
  std::size_t size = 0;
  read_page_size(context, field, size);
  client.page_size = size;
}

constexpr std::array<Key<Client>, 2> kClient = {{
    {"names", read_client_names, "names: {max: 48}"},
    {"page_size", read_client_page_size, "page_size: all"},
}};

}  // namespace

void read_page_size(Context& context, const Field& field, std::size_t& size) {
  if (field.value.kind == Node::Kind::scalar && field.value.scalar == "all") {
    size = 0;
    return;
  }
  if (field.value.kind != Node::Kind::scalar) {
    return wrong_type(context, field, "a whole number, or all");
  }
  read_integer(context, field, 1, 100'000, size);
}

void read_clients(Context& context, const Field& field, Draft& draft) {
  if (!require_mapping(context, field)) return;
  for (const Node::Entry& entry : field.value.entries) {
    const Field client = {entry.key, field.example, entry.at, *entry.value};
    Client read;
    read.pattern = entry.key;
    if (read.pattern.empty() || read.pattern.size() > kLongestPattern) {
      context.problems.add(entry.at, "a client is named by 1 to 128 characters, * and ? included",
                           "use the name that the client gives itself (clientInfo.name)");
      continue;
    }
    read_mapping(context, client, std::span<const Key<Client>>(kClient), read);
    draft.config.clients.push_back(std::move(read));
  }
}

std::vector<std::string> known_client_keys() {
  return {"names", "names.max", "names.charset", "page_size"};
}

}  // namespace mcpx::config
