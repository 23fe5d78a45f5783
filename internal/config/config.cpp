#include "config/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/glob.hpp"
#include "config/keys.hpp"

namespace mcpx::config {

std::string Problem::text() const {
  std::string out = file;
  if (line > 0) out += fmt::format(":{}:{}", line, column);
  out += ": " + message;
  if (!suggestion.empty()) out += "; " + suggestion;
  return out;
}

void Problems::add(Position at, std::string message, std::string suggestion) {
  if (list_.size() >= kLimit) {
    ++dropped_;
    return;
  }
  list_.push_back({file_, at.line, at.column, std::move(message), std::move(suggestion)});
}

std::vector<Problem> Problems::take() {
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (dropped_ > 0) {
    list_.push_back({file_, 0, 0, fmt::format("{} more problems are not shown", dropped_),
                     "correct these first"});
  }
  return std::move(list_);
}

bool Server::tool_allowed(std::string_view original) const {
  const auto matches = [original](const std::string& pattern) {
    return glob_match(pattern, original);
  };
  if (std::any_of(tools_deny.begin(), tools_deny.end(), matches)) return false;
  return tools_allow.empty() || std::any_of(tools_allow.begin(), tools_allow.end(), matches);
}

Milliseconds Server::call_timeout_for(std::string_view tool) const {
  const auto found =
      std::find_if(tool_timeouts.begin(), tool_timeouts.end(),
                   [tool](const auto& entry) { return glob_match(entry.first, tool); });
  return tool.empty() || found == tool_timeouts.end() ? call_timeout : found->second;
}

LoadResult load_text(const std::string& text, const std::string& file,
                     const Environment& environment) {
  Problems problems(file);
  const NodePtr root = read_document(text, problems);
  if (!root) return problems.take();

  const std::size_t slash = file.rfind('/');
  Context context{problems, environment, {}, file, false, {}, {}};
  context.directory = slash == std::string::npos ? std::string() : file.substr(0, slash);
  if (slash == 0) context.directory = "/";

  Draft draft;
  draft.config.file = file;
  const Field field = {"the configuration", "servers: {files: {command: mcp-server-files}}",
                       Position{1, 1}, *root};
  read_root(context, field, draft);
  apply_defaults(context, draft);
  if (!problems.empty()) return problems.take();

  Config& config = draft.config;
  if (config.servers.empty()) {
    context.warnings.push_back(fmt::format("{}: no servers are configured", file));
  }
  if (!config.listen.http_enabled && config.listen.unix_path.empty()) {
    context.warnings.push_back(
        fmt::format("{}: listen.http is off and listen.unix is not set: nobody can connect", file));
  }
  config.secrets = std::move(context.secrets);
  config.warnings = std::move(context.warnings);
  return std::move(draft.config);
}

}  // namespace mcpx::config
