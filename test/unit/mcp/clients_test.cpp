#include "mcp/clients.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "mcp/names.hpp"

namespace mcpx::mcp {
namespace {

std::string client_table() {
  std::string out =
      "| client | `clientInfo.name` | longest name | characters | pages | why | source |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const KnownClient& client : known_clients()) {
    const std::size_t max = client.names_max == 0 ? kDefaultNameLimit : client.names_max;
    out += "| " + std::string(client.product) + " | `" + std::string(client.pattern) + "` | " +
           std::to_string(max) + " | " +
           (client.charset == NameCharset::word ? "`word`" : "`dashes`") + " | " +
           (client.first_page_only ? "the first" : "all") + " | " + std::string(client.why) +
           " | " + std::string(client.source) + " |\n";
  }
  return out;
}

TEST_CASE("the table in docs/clients.md is that of the code") {
  std::ifstream file(MCPX_SOURCE_DIR "/docs/clients.md");
  std::stringstream content;
  content << file.rdbuf();
  const std::string document = content.str();
  const std::string begin = "<!-- clients:begin -->\n";
  const auto from = document.find(begin);
  const auto to = document.find("<!-- clients:end -->");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(document.substr(from + begin.size(), to - from - begin.size()) == client_table());
}

TEST_CASE("a client is known by its name, whatever the case, and by nothing like it") {
  REQUIRE(known_client("Visual Studio Code"));
  REQUIRE(known_client("Visual Studio Code - Insiders") == known_client("visual studio code"));
  REQUIRE(known_client("gemini-cli-mcp-client-files")->product == "Gemini CLI");
  REQUIRE(known_client("Q-DEV-CLI")->charset == NameCharset::word);
  for (const char* other : {"", "claud", "my-cursor", "code", "*", "Visual Studio"}) {
    CAPTURE(other);
    REQUIRE_FALSE(known_client(other));
  }
}

TEST_CASE("what a known client is left can hold a name") {
  for (const KnownClient& client : known_clients()) {
    CAPTURE(client.pattern);
    REQUIRE((client.names_max == 0 || client.names_max >= 32));
    REQUIRE(client.names_max <= kDefaultNameLimit);
    REQUIRE(known_client(client.pattern.substr(0, client.pattern.find('*'))) == &client);
    REQUIRE_FALSE(client.why.empty());
    REQUIRE_FALSE(client.source.empty());
  }
}

}  // namespace
}  // namespace mcpx::mcp
