#include "json/scan.hpp"
#include "rpc/message.hpp"

namespace mcpx::rpc {

bool is_batch(std::string_view text) {
  return json::is_array(json::trimmed(text));
}

std::optional<std::vector<PaddedBuffer>> split_batch(const PaddedBuffer& text) {
  if (!is_batch(text.view())) return std::nullopt;
  std::vector<PaddedBuffer> out;
  json::Elements elements(text.view());
  while (const auto element = elements.next())
    out.emplace_back(*element);
  return out;
}

}  // namespace mcpx::rpc
