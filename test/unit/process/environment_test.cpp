#include "process/environment.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "unit/process/harness.hpp"

namespace mcpx::process {
namespace {

std::string value_of(const Environment& environment, const std::string& name) {
  for (const auto& [known, value] : environment) {
    if (known == name) return value;
  }
  return "(unset)";
}

TEST_CASE("environment: the allow-list") {
  struct Case {
    const char* name;
    bool inherited;
  };
  const Case cases[] = {
      {"HOME", true},
      {"PATH", true},
      {"LANG", true},
      {"LC_ALL", true},
      {"XDG_RUNTIME_DIR", true},
      {"SSL_CERT_FILE", true},
      {"TZ", true},
      {"TERM", true},
      {"http_proxy", false},
      {"HTTPS_PROXY", false},
      {"AWS_SECRET", false},
      {"HOMES", false},
      {"LC", false},
      {"", false},
      {"GITHUB_TOKEN", false},
      {"home", false},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      CHECK(inherited_by_default(c.name) == c.inherited);
    }
  }
}

TEST_CASE("C74: one variable set for a server leaves the rest of the allowed environment") {
  const Environment own = {{"HOME", "/home/me"},
                           {"PATH", "/bin"},
                           {"LANG", "de_DE.UTF-8"},
                           {"TOKEN", "daemon's"},
                           {"EXTRA", "passed"}};
  const Environment merged =
      merge_environment(own, {"EXTRA"}, {{"API_KEY", "k"}, {"LANG", "C"}}, {});
  CHECK(merged.size() == 5);
  CHECK(value_of(merged, "HOME") == "/home/me");
  CHECK(value_of(merged, "PATH") == "/bin");
  CHECK(value_of(merged, "LANG") == "C");
  CHECK(value_of(merged, "EXTRA") == "passed");
  CHECK(value_of(merged, "API_KEY") == "k");
  CHECK(value_of(merged, "TOKEN") == "(unset)");
}

TEST_CASE("environment: PATH is extended once, whoever set it") {
  struct Case {
    const char* name;
    Environment own, extra;
    std::vector<std::string> path_extra;
    std::string expected;
  };
  const Case cases[] = {
      {"the daemon's", {{"PATH", "/bin"}}, {}, {"/opt/node/bin"}, "/bin:/opt/node/bin"},
      {"the server's", {{"PATH", "/bin"}}, {{"PATH", "/own"}}, {"/opt"}, "/own:/opt"},
      {"already there", {{"PATH", "/bin:/opt"}}, {}, {"/opt", "/opt"}, "/bin:/opt"},
      {"none at all", {}, {}, {}, "/usr/local/bin:/usr/bin:/bin"},
      {"an empty one", {{"PATH", ""}}, {}, {"/opt"}, "/opt"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      CHECK(value_of(merge_environment(c.own, {}, c.extra, c.path_extra), "PATH") == c.expected);
    }
  }
}

// A directory that is removed again.
struct Scratch {
  std::filesystem::path path = std::filesystem::temp_directory_path() / process::test::new_mark();
  Scratch() { std::filesystem::create_directories(path); }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, bool executable) const {
    std::ofstream(path / name) << "#!/bin/sh\n";
    const auto mode =
        executable ? std::filesystem::perms::owner_all : std::filesystem::perms::owner_read;
    std::filesystem::permissions(path / name, mode);
    return (path / name).string();
  }
};

TEST_CASE("find_program: searches PATH as a shell would, from the child's directory") {
  const Scratch first, second;
  const std::string plain = first.file("tool", false);
  const std::string tool = second.file("tool", true);
  std::filesystem::create_directories(first.path / "folder");
  const std::string path = first.path.string() + ":" + second.path.string();

  CHECK(find_program("tool", path, "") == tool);  // what is not executable is passed over
  CHECK(find_program("tool", first.path.string(), "") == "");
  CHECK(find_program("folder", path, "") == "");
  CHECK(find_program("none", path, "") == "");
  CHECK(find_program("", path, "") == "");
  CHECK(find_program("tool", ":/nowhere", second.path.string()) == tool);  // empty entry: cwd
  CHECK(find_program("./tool", path, second.path.string()) == tool);
  CHECK(find_program("/no/such", path, "") == "/no/such");
}

}  // namespace
}  // namespace mcpx::process
