#include "config/values.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "config/glob.hpp"
#include "config/suggest.hpp"
#include "config/url_parts.hpp"

namespace mcpx::config {
namespace {

TEST_CASE("sizes are whole numbers of binary units") {
  CHECK(parse_size("0") == 0u);
  CHECK(parse_size("512") == 512u);
  CHECK(parse_size("512B") == 512u);
  CHECK(parse_size("64KiB") == 65'536u);
  CHECK(parse_size("16 MiB") == 16u << 20);
  CHECK(parse_size("2GiB") == 2ull << 30);
  for (const std::string text : {"", "MiB", "1.5MiB", "16MB", "16mib", "-1", "1 ", "1  KiB",
                                 "99999999999999999999", "99999999999999999GiB"}) {
    INFO(text);
    CHECK_FALSE(parse_size(text).has_value());
  }
  CHECK(format_size(64u << 10) == "64KiB");
  CHECK(format_size(1000) == "1000B");
}

TEST_CASE("durations need their unit") {
  CHECK(parse_duration("500ms") == Milliseconds(500));
  CHECK(parse_duration("5s") == Milliseconds(5'000));
  CHECK(parse_duration("2m") == Milliseconds(120'000));
  CHECK(parse_duration("168h") == Milliseconds(604'800'000));
  CHECK(parse_duration("0") == Milliseconds(0));
  for (const std::string text : {"", "5", "s", "169h", "1d", "1.5s", "-1s", "5S", "1m30s"}) {
    INFO(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
}

TEST_CASE("addresses are host:port, [ipv6]:port or a port") {
  CHECK(parse_address("localhost:80")->host == "localhost");
  CHECK(parse_address("[fe80::1]:80")->host == "fe80::1");
  CHECK(parse_address("0")->port == 0);
  for (const std::string text :
       {"", "host", ":80", "h:", "h:65536", "::1:80", "[]:80", "[::1]", "http://h:80", "a b:80"}) {
    INFO(text);
    CHECK_FALSE(parse_address(text).has_value());
  }
}

TEST_CASE("globs know * and ?, and stay cheap whatever the pattern") {
  CHECK(glob_match("*", ""));
  CHECK(glob_match("a*c", "abbc"));
  CHECK(glob_match("a?c", "abc"));
  CHECK(glob_match("*_file*", "read_file_at"));
  CHECK_FALSE(glob_match("", "a"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK_FALSE(glob_match("read", "read_file"));
  CHECK_FALSE(glob_match("[a-z]", "b"));
  std::string pattern;
  for (int i = 0; i < 200; ++i)
    pattern += "*a";
  CHECK_FALSE(glob_match(pattern + "b", std::string(5'000, 'a')));
}

TEST_CASE("the nearest word is found over case, underscores and swapped letters") {
  const std::vector<std::string_view> known = {"command", "args", "call_timeout", "url"};
  CHECK(nearest("comand", known) == std::optional<std::string>("command"));
  CHECK(nearest("Command", known) == std::optional<std::string>("command"));
  CHECK(nearest("agrs", known) == std::optional<std::string>("args"));
  CHECK(nearest("callTimeout", known) == std::optional<std::string>("call_timeout"));
  CHECK(nearest("call-timeout", known) == std::optional<std::string>("call_timeout"));
  CHECK_FALSE(nearest("xyz", known).has_value());
  CHECK_FALSE(nearest(std::string(100'000, 'x'), known).has_value());
}

TEST_CASE("urls are http(s) with a host; user info and query values are secrets") {
  CHECK(split_url("http://h")->secrets.empty());
  CHECK(split_url("https://h:8443/x")->scheme == "https");
  CHECK(split_url("http://[::1]:80/")->scheme == "http");
  CHECK(split_url("http://[::1]/").has_value());
  CHECK(split_url("http://h/?a=b&c")->secrets == std::vector<std::string>{"b", "c"});
  CHECK(split_url("http://u@h/")->secrets == std::vector<std::string>{"u", "dTo="});
  CHECK(split_url("http://u@h/")->has_user_info);
  CHECK(split_url("http://[::1]:81/")->host == "::1");
  CHECK(split_url("http://[::1]:81/")->port == 81);
  CHECK(split_url("http://h?x")->port == 80);
  CHECK(split_url("https://h/a@b")->port == 443);
  for (const std::string text : {"", "h/mcp", "http://", "http:///x", "ftp://h/", "http://h:0/",
                                 "http://h:x/", "http://a b/", "http://h/\n"}) {
    INFO(text);
    CHECK_FALSE(split_url(text).has_value());
  }
}

TEST_CASE("percent-encoding leaves what is unreserved, and reads back") {
  CHECK(percent_encoded("aZ9-._~/ %\xc3") == "aZ9-._~%2F%20%25%C3");
  CHECK(percent_encoded("/a b", "/") == "/a%20b");
  CHECK(percent_decoded("%41%2f%zz%4") == "A/%zz%4");
  CHECK(with_parameter("http://h/?", "a", "b") == "http://h/?a=b");
  CHECK(with_parameter("http://h/?x&", "a", "&") == "http://h/?x&a=%26");
  CHECK(has_parameter("http://h/?x&%61=1#y=2", "a"));
  CHECK_FALSE(has_parameter("http://h/?x&ab=1#y=2", "y"));
}

}  // namespace
}  // namespace mcpx::config
