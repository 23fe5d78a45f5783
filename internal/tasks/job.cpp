#include "tasks/job.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "mcp/error_codes.hpp"

namespace mcpx::tasks {

std::string_view text(Kind kind) {
  constexpr std::array<std::string_view, 3> kKinds = {"modern", "legacy", "own"};
  return kKinds[static_cast<std::size_t>(kind)];
}

std::string Owner::key() const {
  const std::string_view whose = !legacy()           ? std::string_view()
                                 : principal.empty() ? std::string_view(session)
                                                     : std::string_view("any");
  return fmt::format("{}\n{}\n{}", principal, endpoint, whose);
}

Error stopped() {
  return Error("upstream.stopped", "mcpx is shutting down", "ask again when it is back");
}

Origin::Origin(const call::Caller& caller)
    : revision(caller.revision),
      askable(caller.askable),
      passes_through(caller.passes_through),
      session(caller.session),
      principal(caller.principal),
      client_info(caller.client_info),
      capabilities(caller.client_capabilities),
      extensions(caller.extensions) {}

void Origin::describe(call::Caller& caller) const {
  caller.revision = revision;
  caller.askable = askable;
  caller.passes_through = passes_through;
  caller.session = session;
  caller.principal = principal;
  caller.client_info = client_info;
  caller.client_capabilities = capabilities;
  caller.extensions = extensions;
}

// Not its session, which may be over by then and is a secret.
std::string Origin::text() const {
  json::ObjectBuilder out;
  out.string("revision", mcp::text(revision)).integer("askable", askable);
  out.boolean("passesThrough", passes_through).boolean("ownUris", own_uris);
  out.raw("clientInfo", client_info).raw("capabilities", capabilities);
  out.raw("extensions", extensions);
  return out.take();
}

Origin Origin::read(json::Raw text) {
  Origin origin;
  const auto revision = mcp::parse_revision(json::find_string(text, "revision").value_or(""));
  origin.revision = revision.value_or(mcp::kLatestModern);
  const auto askable = json::find(text, "askable");
  const auto bits = askable ? json::as_integer(*askable) : std::nullopt;
  origin.askable = static_cast<mcp::Askable>(bits.value_or(0));
  origin.passes_through = json::find(text, "passesThrough") == "true";
  origin.own_uris = json::find(text, "ownUris") == "true";
  origin.client_info = json::find(text, "clientInfo").value_or(json::Raw());
  origin.capabilities = json::find(text, "capabilities").value_or(json::Raw());
  origin.extensions = json::find(text, "extensions").value_or(json::Raw());
  return origin;
}

std::string random_id() {
  std::array<char, 16> bytes;
  MCPX_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  return hex(std::string_view(bytes.data(), bytes.size()));
}

}  // namespace mcpx::tasks
