// The keys of a server that mcpx runs.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "config/server_draft.hpp"

namespace mcpx::config {

void read_command(Context& context, const Field& field, ServerDraft& draft) {
  draft.command_at = field.at;
  std::string& command = draft.server.command;
  if (!read_text(context, field, Secrecy::place, command)) return;
  if (command.empty()) {
    if (!context.forgive_references) out_of_range(context, field, "the name or path of a program");
    return;
  }
  if (command.front() == '~') {
    return out_of_range(context, field, "a path without '~', which is not expanded here");
  }
  if (command.find(' ') != std::string::npos && command.find('/') == std::string::npos) {
    context.warn(field.value.at,
                 "the command holds a space, and is taken for one program; its arguments belong "
                 "in 'args'");
  }
}

void read_args(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  read_text_list(context, field, Secrecy::secret, draft.server.args);
  // "--token=x" and "--api-key x", written out: secrets that no reference marks.
  const auto& args = draft.server.args;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].rfind('-', 0) != 0) continue;
    const std::size_t equals = args[i].find('=');
    if (!looks_secret(std::string_view(args[i]).substr(0, equals))) continue;
    if (equals != std::string::npos) {
      add_secret(context, std::string_view(args[i]).substr(equals + 1));
    } else if (i + 1 < args.size() && args[i + 1].rfind('-', 0) != 0) {
      add_secret(context, args[i + 1]);
    }
  }
}

void read_env(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  const auto accept = [&context](const Field& pair, const std::string& value) {
    if (pair.name.empty() || pair.name.find('=') != std::string_view::npos) {
      context.problems.add(pair.at, fmt::format("'{}' is no name of a variable", pair.name),
                           "write NAME: value");
      return false;
    }
    if (looks_secret(pair.name)) add_secret(context, value);
    return true;
  };
  read_pairs(context, field, Secrecy::secret, draft.server.env, accept);
}

void read_inherit_env(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  read_list(context, field, draft.server.inherit_env);
  for (const std::string& name : draft.server.inherit_env) {
    if (name.empty() || name.find('=') != std::string::npos) {
      out_of_range(context, field, "a list of names of variables");
      return;
    }
  }
}

void read_cwd(Context& context, const Field& field, ServerDraft& draft) {
  stdio_only(field, draft);
  std::string& cwd = draft.server.cwd;
  if (!read_text(context, field, Secrecy::place, cwd) || cwd.empty()) return;
  if (cwd.front() == '~') {
    return out_of_range(context, field, "a path without '~', which is not expanded here");
  }
  if (cwd.front() != '/' && !context.directory.empty()) cwd = context.directory + '/' + cwd;
}

}  // namespace mcpx::config
