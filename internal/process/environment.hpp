// The environment of a child: an allow-list from the daemon's own, then the configuration's on top
// (case C74). Secrets of the daemon do not reach a server that was not given them. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpx::process {

using Environment = std::vector<std::pair<std::string, std::string>>;

// True for the names a server always gets: HOME, PATH, LANG, LC_*, TZ, TMPDIR, USER, LOGNAME,
// SHELL, TERM, XDG_*, SSL_CERT_*, proxies are not among them.
bool inherited_by_default(std::string_view name);

// `own` is the daemon's environment; `inherit` names further variables to pass on; `extra` wins.
// PATH gets `path_extra` (from the configuration) appended.
Environment merge_environment(const Environment& own, const std::vector<std::string>& inherit,
                              const Environment& extra, const std::vector<std::string>& path_extra);
Environment current_environment();

// The file `program` names in `path`, or nullopt-like empty string. A name with '/' is itself.
std::string find_program(std::string_view program, std::string_view path, std::string_view cwd);

}  // namespace mcpx::process
