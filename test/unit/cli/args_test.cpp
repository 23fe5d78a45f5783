// Command lines, argument words of calls, and where the daemon is looked for.
#include "args.hpp"

#include <unistd.h>

#include <array>
#include <boost/json/object.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "call_arguments.hpp"
#include "client.hpp"
#include "command.hpp"
#include "exit_codes.hpp"
#include "location.hpp"

namespace mcpx::cli {
namespace {

constexpr std::array<Option, 3> kOptions = {
    {{"url", "URL", ""}, {"json", "", ""}, {"arg", "K=V", ""}}};

Result<Parsed> parse(std::vector<std::string> words) {
  return parse_args(words, kOptions);
}

TEST_CASE("options stand anywhere, with = or a space, and repeat") {
  const auto parsed = parse({"a", "--url", "x", "b", "--arg=k=v", "--json", "--arg", "--odd", "-"});
  REQUIRE(parsed.has_value());
  CHECK(parsed->rest == std::vector<std::string>{"a", "b", "-"});
  CHECK(parsed->value("url") == std::optional<std::string>("x"));
  CHECK(parsed->values("arg") == std::vector<std::string>{"k=v", "--odd"});
  CHECK(parsed->has("json"));
  CHECK_FALSE(parsed->has("help"));
  CHECK(parse({"--", "--json", "-x"})->rest == std::vector<std::string>{"--json", "-x"});
}

TEST_CASE("wrong options are told with a suggestion") {
  CHECK(parse({"--jsn"}).error().text() == "unknown option '--jsn'; did you mean '--json'?");
  CHECK(parse({"--url"}).error().text() == "option '--url' needs a value; write --url URL");
  CHECK(parse({"--json=1"}).error().message == "option '--json' takes no value");
  CHECK(parse({"-x"}).error().message == "unknown option '-x'");
  CHECK(parse_seconds("wait", "5").value() == 5);
  for (const std::string text : {"", "x", "-1", "5s", "100000"}) {
    CHECK_FALSE(parse_seconds("wait", text).has_value());
  }
}

TEST_CASE("the daemon is at MCPX_URL, else at its socket, else at its port") {
  std::map<std::string, std::string> variables;
  const auto environment = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  const auto nothing = [](const std::string&) { return false; };
  const auto everything = [](const std::string&) { return true; };
  CHECK(default_url(environment, everything) == "http://127.0.0.1:7332");
  variables["XDG_RUNTIME_DIR"] = "/run/user/1";
  CHECK(default_url(environment, nothing) == "http://127.0.0.1:7332");
  CHECK(default_url(environment, everything) == "unix:/run/user/1/mcpx/mcpx.sock");
  variables["MCPX_URL"] = "http://h:1";
  CHECK(default_url(environment, everything) == "http://h:1");
}

TEST_CASE("the token is that of --token-file, of MCPX_TOKEN or of MCPX_TOKEN_FILE") {
  std::map<std::string, std::string> variables;
  const auto environment = [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  std::string path = (std::filesystem::temp_directory_path() / "mcpx-token-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  REQUIRE(descriptor >= 0);
  ::close(descriptor);
  const auto with = [&](const std::string& content) { std::ofstream(path) << content; };
  const std::string http = "http://h:1", local = "unix:/s";
  const auto code = [&](const Result<std::string>& token) {
    return token ? std::string() : token.error().code;
  };

  CHECK(token_for(http, std::nullopt, environment).value().empty());
  with("from-the-file\r\n");
  variables["MCPX_TOKEN_FILE"] = path;
  CHECK(token_for(http, std::nullopt, environment).value() == "from-the-file");
  variables["MCPX_TOKEN"] = "from-the-variable";
  CHECK(token_for(http, std::nullopt, environment).value() == "from-the-variable");
  CHECK(token_for(http, path, environment).value() == "from-the-file");
  CHECK(token_for(local, std::nullopt, environment).value().empty());
  CHECK(token_for(local, path, environment).value() == "from-the-file");
  for (const char* content : {"", "\n", "two words", "a\nb"}) {
    INFO(content);
    with(content);
    CHECK(code(token_for(http, path, environment)) == "cli.token");
  }
  CHECK(code(token_for(http, path + "-not", environment)) == "cli.token");
  std::filesystem::remove(path);
}

TEST_CASE("K=V words become JSON by the schema, else by their look") {
  boost::json::object properties;
  properties["text"] = boost::json::object{{"type", "string"}};
  properties["count"] = boost::json::object{{"type", "integer"}};
  properties["either"] = boost::json::object{{"type", boost::json::array{"string", "null"}}};
  const boost::json::object schema{{"properties", properties}};
  const auto made = [&](std::vector<std::string> words) {
    const auto result = arguments_from_pairs(words, schema);
    return result ? *result : result.error().message;
  };
  CHECK(made({}) == "{}");
  CHECK(made({"text=7"}) == R"({"text":"7"})");
  CHECK(made({"count=7"}) == R"({"count":7})");
  CHECK(made({"count=9007199254740993"}) == R"({"count":9007199254740993})");
  CHECK(made({"either=null"}) == R"({"either":"null"})");
  CHECK(made({"other=7", "more=seven", "list=[1, 2]", "empty="}) ==
        R"({"other":7,"more":"seven","list":[1, 2],"empty":""})");
  CHECK(made({"q=\"x\""}) == R"({"q":"\"x\""})");
  CHECK(made({"text:=7", "eq=a=b"}) == R"({"text":7,"eq":"a=b"})");
  CHECK(made({"a:=x"}) == "the value of 'a' is not JSON");
  CHECK(made({"a"}) == "'a' is no argument");
  CHECK(made({"=a"}) == "'=a' is no argument");
  CHECK(made({":=1"}) == "':=1' is no argument");
  CHECK(made({"a=1", "a=2"}) == "the argument 'a' is given twice");
}

TEST_CASE("arguments given as JSON must be one object, and stay as written") {
  CHECK(checked_arguments(R"( {"a": 1.0} )").value() == R"( {"a": 1.0} )");
  CHECK(checked_arguments("[1]").error().message == "the arguments are not a JSON object");
  CHECK(checked_arguments("{").error().message.find("not JSON") != std::string::npos);
  CHECK(checked_arguments("").error().code == "cli.usage");
}

TEST_CASE("the input schema is found in a list of tools, or is empty") {
  const std::string tools =
      R"({"tools":[{"name":"a","definition":{"inputSchema":{"x":1}}},{"name":"b"},7]})";
  CHECK(find_input_schema(tools, "a").contains("x"));
  CHECK(find_input_schema(tools, "b").empty());
  CHECK(find_input_schema(tools, "c").empty());
  CHECK(find_input_schema("nonsense", "a").empty());
}

TEST_CASE("names are encoded for a path") {
  CHECK(percent_encoded("a__b-c.d~9") == "a__b-c.d~9");
  CHECK(percent_encoded("a/b ?\xc3\xa9") == "a%2Fb%20%3F%C3%A9");
}

TEST_CASE("every command has help, and usage errors end with 2") {
  Context context;
  context.environment = [](const std::string&) { return std::nullopt; };
  for (const Command& command : commands()) {
    INFO(command.name);
    const std::string help = command_help(command);
    CHECK(help.find("usage: mcpx " + std::string(command.name)) != std::string::npos);
    CHECK(help.find("--url") != std::string::npos);
    CHECK(general_help().find(std::string(command.name)) != std::string::npos);
    const std::vector<std::string> asked = {std::string(command.name), "--help"};
    CHECK(run_command_line(context, asked) == kOk);
    const std::vector<std::string> wrong = {std::string(command.name), "--no-such-option"};
    CHECK(run_command_line(context, wrong) == kUsage);
  }
  CHECK(run_command_line(context, std::vector<std::string>{}) == kUsage);
  CHECK(run_command_line(context, std::vector<std::string>{"stauts"}) == kUsage);
  CHECK(run_command_line(context, std::vector<std::string>{"call"}) == kUsage);
  CHECK(run_command_line(context, std::vector<std::string>{"connect", "--config", "x"}) == kUsage);
  CHECK(run_command_line(context, std::vector<std::string>{"status", "--url", "ftp://h"}) ==
        kUsage);
  CHECK(run_command_line(context, std::vector<std::string>{"--url=http://127.0.0.1:1", "status"}) ==
        kUnreachable);
}

TEST_CASE("docs/cli.md knows every command, option and exit code") {
  std::ifstream stream(std::string(MCPX_SOURCE_DIR) + "/docs/cli.md", std::ios::binary);
  REQUIRE(stream.good());
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  std::vector<Option> options(global_options().begin(), global_options().end());
  for (const Command& command : commands()) {
    INFO(command.name);
    CHECK(text.find("`mcpx " + std::string(command.name)) != std::string::npos);
    options.insert(options.end(), command.options.begin(), command.options.end());
  }
  for (const Option& option : options) {
    INFO(option.name);
    CHECK(text.find("--" + std::string(option.name)) != std::string::npos);
  }
  for (const int code : {kOk, kFailed, kUsage, kUnreachable, kInternal, 75}) {
    CHECK(text.find("\n| " + std::to_string(code) + " |") != std::string::npos);
    CHECK(exit_codes_help().find(" " + std::to_string(code) + "  ") != std::string::npos);
  }
}

}  // namespace
}  // namespace mcpx::cli
