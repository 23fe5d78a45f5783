// Answering a question of a server from the command line: for mcpx elicit and mcpx call. Thread:
// startup.
#pragma once

#include <boost/json/object.hpp>
#include <cstdio>
#include <string>

#include "command.hpp"
#include "reply.hpp"

namespace mcpx::cli {

// Standard input and standard error are a terminal: somebody can be asked.
bool can_ask();

// Shows a question whole, as GET /v1/elicitations/{id} tells it, to standard error or output.
void show_question(const bj::object& question, const Context& context, std::FILE* to);

// Has somebody answer it on the terminal, and the daemon told. The exit code.
int answer_on_terminal(const Context& context, const bj::object& question);

// "mcpx elicit answer q-... --set name=VALUE"
std::string answer_command(const bj::object& question);

// POSTs `action` with `body` (raw JSON). The exit code; what came of it is said.
int settle_question(const Context& context, const std::string& id, std::string_view action,
                    const std::string& body);

}  // namespace mcpx::cli
