// Tokens: who is let in, where, and how often.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "http/access.hpp"

namespace mcpx::http {
namespace {

Token token(std::string name, const std::string& secret, std::vector<std::string> paths) {
  Token out;
  out.name = std::move(name);
  out.sha256 = sha256_hex(secret);
  out.paths = std::move(paths);
  return out;
}

AccessOptions three_tokens() {
  AccessOptions options;
  options.tokens = {token("all", "secret-of-all", {"/mcp/*"}),
                    token("one", "secret-of-one", {"/mcp/files"}),
                    token("root", "secret-of-root", {"/mcp/*", "/v1/*"})};
  return options;
}

http1::RequestHead head_with(std::string target, const std::vector<std::string>& authorization) {
  http1::RequestHead head;
  head.method = "POST";
  head.target = std::move(target);
  for (const std::string& value : authorization)
    head.fields.add("Authorization", value);
  return head;
}

struct AccessCase {
  const char* name;
  const char* target;
  std::vector<std::string> authorization;
  unsigned status;   // 0: let in
  const char* told;  // the token's name, or the code of the error
};

TEST_CASE("a token lets in, to what it is for",
          "[req:authz-server-validates-token][req:authz-accept-only-own-tokens]"
          "[req:authz-error-status-codes][req:authz-401-when-unauthorized]") {
  const Access access(three_tokens());
  const std::vector<AccessCase> cases = {
      {"right", "/mcp", {"Bearer secret-of-all"}, 0, "all"},
      {"any case of the scheme", "/mcp", {"bEARER  secret-of-all"}, 0, "all"},
      {"below", "/mcp/files?x=1", {"Bearer secret-of-all"}, 0, "all"},
      {"none", "/mcp", {}, 401, "http.unauthorized"},
      {"wrong", "/mcp", {"Bearer secret-of-alL"}, 401, "http.unauthorized"},
      {"the digest itself",
       "/mcp",
       {"Bearer " + sha256_hex("secret-of-all")},
       401,
       "http.unauthorized"},
      {"empty", "/mcp", {"Bearer "}, 400, "http.bad_authorization"},
      {"no token", "/mcp", {"Bearer"}, 400, "http.bad_authorization"},
      {"two in one",
       "/mcp",
       {"Bearer secret-of-all, Bearer secret-of-all"},
       400,
       "http.bad_authorization"},
      {"glued", "/mcp", {"Bearersecret-of-all"}, 401, "http.unauthorized"},
      {"another scheme", "/mcp", {"Basic secret-of-all"}, 401, "http.unauthorized"},
      {"twice",
       "/mcp",
       {"Bearer secret-of-all", "Bearer secret-of-all"},
       400,
       "http.bad_authorization"},
      {"in the query", "/mcp?access_token=secret-of-all", {}, 401, "http.unauthorized"},
      {"its one endpoint", "/mcp/files", {"Bearer secret-of-one"}, 0, "one"},
      {"the same with a slash", "/mcp/files/", {"Bearer secret-of-one"}, 0, "one"},
      {"another", "/mcp/mail", {"Bearer secret-of-one"}, 403, "http.forbidden_endpoint"},
      {"all of them", "/mcp", {"Bearer secret-of-one"}, 403, "http.forbidden_endpoint"},
      {"deeper", "/mcp/files/x", {"Bearer secret-of-one"}, 403, "http.forbidden_endpoint"},
      {"a longer name", "/mcp/files2", {"Bearer secret-of-one"}, 403, "http.forbidden_endpoint"},
      {"the administration",
       "/v1/status",
       {"Bearer secret-of-all"},
       403,
       "http.forbidden_endpoint"},
      {"the administrator", "/v1/status", {"Bearer secret-of-root"}, 0, "root"},
      {"beside", "/mcpx", {"Bearer secret-of-root"}, 403, "http.forbidden_endpoint"},
  };
  for (const AccessCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const auto verdict = access.admit(head_with(c.target, c.authorization), Access::Need::token);
      if (c.status == 0) {
        REQUIRE(verdict.has_value());
        CHECK(Access::name(**verdict) == c.told);
      } else {
        REQUIRE(verdict.has_error());
        const Refused refused = verdict.error();
        CHECK(refused.status == c.status);
        CHECK(refused.error.code == c.told);
        CHECK_FALSE(refused.error.remedy.empty());
        CHECK(refused.challenge.substr(0, 19) == "Bearer realm=\"mcpx\"");
        CHECK(refused.error.text().find("secret-of") == std::string::npos);
      }
    }
  }
}

TEST_CASE("where no token is needed, none has to be shown, but not a wrong one") {
  const Access access(three_tokens());
  const auto nobody = access.admit(head_with("/v1/status", {}), Access::Need::nothing);
  REQUIRE(nobody.has_value());
  CHECK(Access::name(**nobody).empty());
  const auto shown =
      access.admit(head_with("/mcp", {"Bearer secret-of-all"}), Access::Need::nothing);
  REQUIRE(shown.has_value());
  CHECK(Access::name(**shown) == "all");
  const auto wrong = access.admit(head_with("/mcp", {"Bearer x"}), Access::Need::nothing);
  CHECK(wrong.has_error());
}

TEST_CASE("without tokens everybody comes in, whatever they show") {
  const Access access{AccessOptions()};
  const auto verdict = access.admit(head_with("/v1/x", {"Bearer what"}), Access::Need::token);
  REQUIRE(verdict.has_value());
  CHECK(Access::name(**verdict).empty());
}

TEST_CASE("a client that asks too often is told when to come back, and others are not") {
  AccessOptions options = three_tokens();
  options.requests_per_second = 10;
  options.burst = 3;
  const Access access(std::move(options));
  const auto all = access.admit(head_with("/mcp", {"Bearer secret-of-all"}), Access::Need::token);
  const auto root = access.admit(head_with("/mcp", {"Bearer secret-of-root"}), Access::Need::token);
  REQUIRE((all.has_value() && root.has_value()));
  const TimePoint start = TimePoint() + std::chrono::hours(1);
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(access.take_turn(**all, start));
  const auto refused = access.take_turn(**all, start);
  REQUIRE(refused);
  CHECK(refused->status == 429);
  CHECK(refused->error.code == "http.rate_limited");
  CHECK(refused->retry_after_seconds == 1);
  CHECK_FALSE(access.take_turn(**root, start));
  // A refused request costs nothing: a tenth of a second later there is room for one, not for two.
  const TimePoint later = start + Milliseconds(100);
  CHECK_FALSE(access.take_turn(**all, later));
  CHECK(access.take_turn(**all, later));
  const TimePoint much_later = start + std::chrono::minutes(1);
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(access.take_turn(**all, much_later));
  CHECK(access.take_turn(**all, much_later));
}

TEST_CASE("requests in progress are bounded per client") {
  AccessOptions options = three_tokens();
  options.requests = 2;
  const Access access(std::move(options));
  const auto all = access.admit(head_with("/mcp", {"Bearer secret-of-all"}), Access::Need::token);
  const auto root = access.admit(head_with("/mcp", {"Bearer secret-of-root"}), Access::Need::token);
  REQUIRE((all.has_value() && root.has_value()));
  CHECK_FALSE(access.enter(**all));
  CHECK_FALSE(access.enter(**all));
  const auto refused = access.enter(**all);
  REQUIRE(refused);
  CHECK(refused->status == 503);
  CHECK(refused->error.code == "http.too_many_requests");
  CHECK(refused->retry_after_seconds == 1);
  CHECK_FALSE(access.enter(**root));
  access.leave(**all);
  CHECK_FALSE(access.enter(**all));
  CHECK(access.enter(**all));
}

}  // namespace
}  // namespace mcpx::http
