#include "mcp/clients.hpp"

#include <array>

namespace mcpx::mcp {
namespace {

constexpr std::size_t kAny = 0;
constexpr NameCharset kDashes = NameCharset::dashes;
constexpr NameCharset kWord = NameCharset::word;
constexpr bool kAllPages = false;
constexpr bool kFirstPage = true;

// What a client puts around the server's key, and the limit of the sum.
constexpr std::size_t left_of(std::size_t limit, std::string_view around) {
  return limit - around.size() - kServerKey;
}

constexpr std::array<KnownClient, 8> kTable = {{
    {"claude-code*", "Claude Code", left_of(64, "mcp____"), kDashes, kFirstPage,
     "calls tools `mcp__{server}__{tool}`, at most 64 characters; reads one page of a list",
     "github.com/anthropics/claude-code issues 39586, 24785; github.com/cloudflare/skills issue "
     "11"},
    {"claude-ai*", "Claude Desktop, claude.ai", left_of(64, "_"), kDashes, kFirstPage,
     "server and tool together have at most 64 characters; reads one page of a list",
     "github.com/sparfenyuk/mcp-proxy issue 45; github.com/anthropics/claude-ai-mcp issue 87"},
    {"cursor*", "Cursor", left_of(60, ":"), kDashes, kAllPages,
     "leaves out tools whose `{server}:{tool}` is longer than 60 characters",
     "github.com/ComposioHQ/composio issue 2788; github.com/awslabs/mcp issue 1283"},
    {"visual studio code*", "VS Code", left_of(64, "mcp__"), kDashes, kAllPages,
     "calls tools `mcp_{server}_{tool}`, and models take at most 64 characters",
     "github.com/microsoft/vscode issue 243602"},
    {"gemini-cli*", "Gemini CLI", left_of(63, "mcp__"), kDashes, kAllPages,
     "calls tools `mcp_{server}_{tool}` and cuts the middle out of what is longer than 63",
     "github.com/google-gemini/gemini-cli pull request 602"},
    {"codex*", "Codex", left_of(64, "mcp____"), kDashes, kFirstPage,
     "calls tools `mcp__{server}__{tool}`, at most 64 characters; reads one page of a list",
     "github.com/openai/codex issue 28858"},
    {"github-copilot-developer*", "GitHub Copilot CLI", kAny, kDashes, kFirstPage,
     "reads one page of a list", "github.com/github/copilot-cli issue 4006"},
    {"q-dev-cli*", "Amazon Q Developer CLI", left_of(64, "___"), kWord, kAllPages,
     "takes names of letters, digits and `_`, at most 64 characters with `{server}___` in front",
     "github.com/awslabs/mcp issue 643; github.com/crowecawcaw/click-mcp issue 4"},
}};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool fits(std::string_view pattern, std::string_view name) {
  const bool open = !pattern.empty() && pattern.back() == '*';
  if (open) pattern.remove_suffix(1);
  if (name.size() < pattern.size() || (!open && name.size() != pattern.size())) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (lower(name[i]) != pattern[i]) return false;
  }
  return true;
}

}  // namespace

std::span<const KnownClient> known_clients() {
  return kTable;
}

const KnownClient* known_client(std::string_view name) {
  for (const KnownClient& client : kTable) {
    if (fits(client.pattern, name)) return &client;
  }
  return nullptr;
}

}  // namespace mcpx::mcp
