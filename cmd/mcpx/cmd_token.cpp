// mcpx token new: a token for listen.tokens, and the lines of the configuration that know it.
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "command.hpp"
#include "exit_codes.hpp"
#include "reply.hpp"

namespace mcpx::cli {
namespace {

constexpr std::size_t kTokenBytes = 32;

// "mcpx_" tells scanners for leaked secrets, and people, what it is.
std::string new_token() {
  std::array<char, kTokenBytes> bytes{};
  MCPX_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  std::string text = base64(std::string_view(bytes.data(), bytes.size()));
  while (text.back() == '=')
    text.pop_back();
  for (char& c : text) {  // RFC 4648 section 5: nothing that a shell or a URL reads otherwise
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return "mcpx_" + text;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
             std::string_view::npos;
}

bool is_endpoint(std::string_view path) {
  return path == "/mcp" || (path.substr(0, 5) == "/mcp/" && is_name(path.substr(5)));
}

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list)
    out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

int run_token(const Context& context, const Parsed& args) {
  if (args.rest.size() != 2 || args.rest[0] != "new" || !is_name(args.rest[1])) {
    return fail_usage("token", Error("cli.usage", "say 'mcpx token new NAME'",
                                     "a name has 1 to 64 characters of A-Z a-z 0-9 _ -"));
  }
  const std::string& name = args.rest[1];
  const std::vector<std::string> endpoints = args.values("endpoint");
  for (const std::string& endpoint : endpoints) {
    if (is_endpoint(endpoint)) continue;
    return fail_usage("token", Error("cli.usage", fmt::format("'{}' is no endpoint", endpoint),
                                     "write /mcp or /mcp/NAME"));
  }
  const std::string token = new_token();
  const std::string digest = sha256_hex(token);
  if (context.json) {
    print(fmt::format("{{\"name\":\"{}\",\"token\":\"{}\",\"sha256\":\"{}\"}}\n", name, token,
                      digest));
    return kOk;
  }
  print(fmt::format("The token, which is not shown again:\n\n  {}\n\n", token));
  print(fmt::format("For the configuration of mcpxd:\n\nlisten:\n  tokens:\n    {}:\n", name));
  print(fmt::format("      sha256: \"{}\"\n", digest));
  if (!endpoints.empty()) print(fmt::format("      endpoints: [{}]\n", joined(endpoints)));
  if (args.has("admin")) print("      admin: true\n");
  return kOk;
}

}  // namespace mcpx::cli
