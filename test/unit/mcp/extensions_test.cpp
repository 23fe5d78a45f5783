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

TEST_CASE("of a client's extensions an endpoint carries those that it routes") {
  const char* const declared =
      R"({"roots":{},"extensions":{"com.example/more":{"a":1.0},"io.modelcontextprotocol/tasks":{},)"
      R"("io.modelcontextprotocol/ui":{"mimeTypes":["x"]}}})";
  REQUIRE(carried_extensions(declared, false) ==
          R"({"io.modelcontextprotocol/ui":{"mimeTypes":["x"]}})");
  REQUIRE(carried_extensions(declared, true) ==
          R"({"com.example/more":{"a":1.0},"io.modelcontextprotocol/ui":{"mimeTypes":["x"]}})");
  REQUIRE(carried_capabilities(declared, false) ==
          R"({"roots":{},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["x"]}}})");
  REQUIRE(carried_capabilities(declared, false, true) ==
          R"({"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},)"
          R"("io.modelcontextprotocol/ui":{"mimeTypes":["x"]}}})");
  REQUIRE(carried_capabilities(declared, true, true).empty());
  for (const char* none : {"{}", R"({"extensions":{}})", R"({"extensions":[]})",
                           R"({"extensions":{"com.example/more":{}}})"}) {
    CAPTURE(none);
    REQUIRE(carried_extensions(none, false).empty());
  }
  REQUIRE(
      carried_capabilities(R"({"extensions":{"io.modelcontextprotocol/ui":{}}})", false).empty());
  REQUIRE(with_extensions("{}", "") == "{}");
  REQUIRE(with_extensions(R"({"roots":{}})", R"({"a/b":{}})") ==
          R"({"roots":{},"extensions":{"a/b":{}}})");
}

TEST_CASE("a tool is only for apps when it says so and names no model") {
  const auto tool = [](const std::string& ui) {
    return R"({"name":"t","_meta":{"ui":)" + ui + "}}";
  };
  REQUIRE(is_app_only(tool(R"({"visibility":["app"]})")));
  for (const char* other :
       {"{}", R"({"visibility":["model","app"]})", R"({"visibility":["app","model"]})",
        R"({"visibility":["model"]})", R"({"visibility":[]})", R"({"visibility":"app"})",
        R"({"visibility":["somebody"]})"}) {
    CAPTURE(other);
    REQUIRE_FALSE(is_app_only(tool(other)));
  }
  REQUIRE_FALSE(is_app_only(R"({"name":"visibility"})"));
}

TEST_CASE("notifications that no revision has are those of extensions") {
  REQUIRE(is_foreign_notification("notifications/com.example/news"));
  for (const char* known : {"notifications/progress", "notifications/message",
                            "notifications/tasks/status", "notifications/elicitation/complete"}) {
    CAPTURE(known);
    REQUIRE_FALSE(is_foreign_notification(known));
  }
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
