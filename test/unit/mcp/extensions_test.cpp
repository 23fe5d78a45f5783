#include "mcp/extensions.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace mcpx::mcp {
namespace {

const char* const kWithSkills =
    R"({"resources":{},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}})";

TEST_CASE("an extension is declared by an object of settings, and by nothing else") {
  REQUIRE(extension_settings(kWithSkills, kSkills) == R"({"directoryRead":true})");
  REQUIRE_FALSE(extension_settings(kWithSkills, kApps));
  for (const char* other :
       {"{}", R"({"extensions":[]})", R"({"extensions":{"io.modelcontextprotocol/skills":true}})",
        R"({"io.modelcontextprotocol/skills":{}})"}) {
    CAPTURE(other);
    REQUIRE_FALSE(extension_settings(other, kSkills));
    REQUIRE_FALSE(offers(other, ListKind::skills));
    REQUIRE_FALSE(offers_directories(other));
  }
}

TEST_CASE("capabilities say which lists there are") {
  REQUIRE(offers(kWithSkills, ListKind::skills));
  REQUIRE(offers(kWithSkills, ListKind::resources));
  REQUIRE(offers(kWithSkills, ListKind::resource_templates));
  REQUIRE_FALSE(offers(kWithSkills, ListKind::tools));
  REQUIRE(offers_directories(kWithSkills));
  REQUIRE_FALSE(offers_directories(R"({"extensions":{"io.modelcontextprotocol/skills":{}}})"));
}

TEST_CASE("extensions that mcpx does not know by name are others") {
  REQUIRE_FALSE(declares_others("{}"));
  REQUIRE_FALSE(declares_others(kWithSkills));
  REQUIRE_FALSE(declares_others(
      R"({"extensions":{"io.modelcontextprotocol/ui":{},"io.modelcontextprotocol/tasks":{}}})"));
  REQUIRE(
      declares_others(R"({"extensions":{"io.modelcontextprotocol/ui":{},"com.example/more":{}}})"));
}

TEST_CASE("what no revision and no known extension defines is foreign") {
  REQUIRE(method_of("tools/call") == Method::tools_call);
  REQUIRE(method_of("skills/get") == Method::skills_get);
  REQUIRE(method_of("com.example/do") == Method::foreign);
  REQUIRE(method_of("") == Method::foreign);
  REQUIRE(info(Method::foreign).from_client);
  REQUIRE_FALSE(info(Method::foreign).notification);
}

}  // namespace
}  // namespace mcpx::mcp
