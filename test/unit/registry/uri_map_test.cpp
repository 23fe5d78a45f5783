#include <catch2/catch.hpp>
#include <string>

#include "mcp/uris.hpp"
#include "registry/uri_map.hpp"

namespace mcpx::registry {
namespace {

std::string qualified(const std::string& uri) {
  return json::quoted(mcp::exposed_uri("files", uri));
}

TEST_CASE("results without URIs are left alone") {
  REQUIRE(expose_result_uris(mcp::Method::tools_call, R"({"content":[{"type":"text","text":"x"}]})",
                             "files")
              .empty());
  // The word in the data of a tool is not a URI of ours.
  REQUIRE(expose_result_uris(mcp::Method::tools_call,
                             R"({"content":[{"type":"text","text":"uri"}],)"
                             R"("structuredContent":{"uri":"file:///a"}})",
                             "files")
              .empty());
}

TEST_CASE("every URI a caller may read back is qualified, all else stays byte for byte") {
  struct Case {
    const char* name;
    mcp::Method method;
    std::string before, after;
  };
  const std::string uri = R"("file:///a b")";
  const Case cases[] = {
      {"embedded resource", mcp::Method::tools_call,
       R"({ "n":1.0, "content" : [{"type":"resource","resource":{"uri":)" + uri +
           R"(,"text":""}}],"x":1e400})",
       R"({ "n":1.0, "content" : [{"type":"resource","resource":{"uri":)" +
           qualified("file:///a b") + R"(,"text":""}}],"x":1e400})"},
      {"two links", mcp::Method::tools_call,
       R"({"content":[{"uri":)" + uri +
           R"(,"type":"resource_link"},{"type":"resource_link","uri":"x:y"}]})",
       R"({"content":[{"uri":)" + qualified("file:///a b") +
           R"(,"type":"resource_link"},{"type":"resource_link","uri":)" + qualified("x:y") + "}]}"},
      {"contents", mcp::Method::resources_read,
       R"({"contents":[{"uri":)" + uri + R"(,"text":"t"}]})",
       R"({"contents":[{"uri":)" + qualified("file:///a b") + R"(,"text":"t"}]})"},
      {"escaped spelling", mcp::Method::resources_read, R"({"contents":[{"\u0075ri":"x:\u0079"}]})",
       R"({"contents":[{"\u0075ri":)" + qualified("x:y") + "}]}"},
      {"prompt", mcp::Method::prompts_get,
       R"({"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"x:y"}}}]})",
       R"({"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":)" +
           qualified("x:y") + "}}}]}"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      REQUIRE(expose_result_uris(c.method, c.before, "files") == c.after);
    }
  }
}

TEST_CASE("the uri of a not-found error is the one the caller used") {
  REQUIRE(expose_error_uris(R"({"code":-32002,"message":"m","data":{"uri":"x:y"}})", "files") ==
          R"({"code":-32002,"message":"m","data":{"uri":)" + qualified("x:y") + "}}");
  REQUIRE(expose_error_uris(R"({"code":-32002,"message":"uri"})", "files").empty());
}

TEST_CASE("a tool's ui resource is qualified with its definition") {
  const std::string text = expose_definition(
      mcp::ListKind::tools, R"({"name":"t","_meta":{"ui":{"resourceUri":"ui://app/x"},"k":1}})",
      "files__t", "files");
  REQUIRE(text == R"({"name":"files__t","_meta":{"ui":{"resourceUri":)" + qualified("ui://app/x") +
                      R"(},"k":1}})");
}

TEST_CASE("every spelling of a tool's interface leads to it") {
  const std::string definition =
      R"({"name":"t","_meta":{"ui/resourceUri":"ui:\/\/app/x","openai/outputTemplate":"ui://w",)"
      R"("com.example/home":"https://ui://","n":{"a":["ui://kept"]}},"description":"ui://app/x"})";
  REQUIRE(expose_definition(mcp::ListKind::tools, definition, "files__t", "files") ==
          R"({"name":"files__t","_meta":{"ui/resourceUri":)" + qualified("ui://app/x") +
              R"(,"openai/outputTemplate":)" + qualified("ui://w") +
              R"(,"com.example/home":"https://ui://","n":{"a":["ui://kept"]}},)" +
              R"("description":"ui://app/x"})");
}

TEST_CASE("the URIs of a skill and of what a directory holds are qualified") {
  const std::string file = R"({"uri":"skill://r/a.md","digest":"sha256:1","size":1})";
  const std::string shown =
      R"({"uri":)" + qualified("skill://r/a.md") + R"(,"digest":"sha256:1","size":1})";
  REQUIRE(expose_result_uris(mcp::Method::skills_get,
                             R"({"skill":{"uri":"skill://r/SKILL.md","frontmatter":{"uri":"x:y"},)"
                             R"("resources":[)" +
                                 file + "]}}",
                             "files") == R"({"skill":{"uri":)" + qualified("skill://r/SKILL.md") +
                                             R"(,"frontmatter":{"uri":"x:y"},"resources":[)" +
                                             shown + "]}}");
  REQUIRE(expose_result_uris(mcp::Method::resources_directory_read,
                             R"({"resources":[)" + file + R"(],"nextCursor":"uri"})",
                             "files") == R"({"resources":[)" + shown + R"(],"nextCursor":"uri"})");
  REQUIRE(expose_result_uris(mcp::Method::skills_get,
                             R"({"skill":{"uri":"skill://r/SKILL.md","resources":"dynamic"}})",
                             "files", true)
              .empty());
}

TEST_CASE("own URIs stay as they are, except those that look qualified") {
  const std::string result =
      R"({"contents":[{"uri":"test:\/\/x","text":"a"},{"uri":"mcpx://b/file:///y"}]})";
  REQUIRE(expose_result_uris(mcp::Method::resources_read, R"({"contents":[{"uri":"test:x"}]})",
                             "files", true)
              .empty());
  REQUIRE(expose_result_uris(mcp::Method::resources_read, result, "files", true) ==
          R"({"contents":[{"uri":"test:\/\/x","text":"a"},{"uri":)" +
              qualified("mcpx://b/file:///y") + "}]}");
  REQUIRE(expose_error_uris(R"({"code":-32002,"message":"m","data":{"uri":"x:y"}})", "files", true)
              .empty());
}

}  // namespace
}  // namespace mcpx::registry
