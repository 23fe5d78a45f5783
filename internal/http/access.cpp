#include "http/access.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/digest.hpp"

namespace mcpx::http {

class Principal {
 public:
  explicit Principal(const Token* token) : token_(token) {}

  const Token* token_;  // null: the one without
  mutable std::atomic<std::size_t> in_progress_{0};
  // When the bucket will be full again, in the clock's ticks (a token bucket told by one number:
  // the "generic cell rate algorithm").
  mutable std::atomic<Clock::rep> full_at_{0};
};

namespace {

constexpr std::string_view kChallenge = "Bearer realm=\"mcpx\"";
constexpr std::string_view kMalformed = "Bearer realm=\"mcpx\", error=\"invalid_request\"";
constexpr std::string_view kNotAnybodys = "Bearer realm=\"mcpx\", error=\"invalid_token\"";
constexpr std::string_view kNotForThis = "Bearer realm=\"mcpx\", error=\"insufficient_scope\"";

// The token of an Authorization header: nullopt for another scheme, empty when it is malformed.
// RFC 6750 section 2.1. Tokens in the query are not looked at: they end up in logs (2025-03-26 to
// 2026-07-28, basic/authorization, "Token Requirements").
std::optional<std::string_view> bearer(std::string_view value) {
  const std::string_view scheme = value.substr(0, value.find(' '));
  if (!http1::equals_ignoring_case(scheme, "bearer")) return std::nullopt;
  value.remove_prefix(scheme.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value.find_first_of(" ,") == std::string_view::npos ? value : std::string_view();
}

// As long for every pair of the same size.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differing |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differing == 0;
}

bool covers(std::string_view pattern, std::string_view path) {
  constexpr std::string_view kBelow = "/*";
  const bool whole =
      pattern.size() > kBelow.size() && pattern.substr(pattern.size() - kBelow.size()) == kBelow;
  if (!whole) return pattern == path;
  pattern.remove_suffix(kBelow.size());
  if (path.substr(0, pattern.size()) != pattern) return false;
  return path.size() == pattern.size() || path[pattern.size()] == '/';
}

bool may_use(const Token& token, std::string_view path) {
  // "/mcp/files/" is served as "/mcp/files".
  while (path.size() > 1 && path.back() == '/')
    path.remove_suffix(1);
  return std::any_of(token.paths.begin(), token.paths.end(),
                     [path](const std::string& pattern) { return covers(pattern, path); });
}

Refused unauthorized(std::string message, std::string_view challenge) {
  Refused out(401, Error("http.unauthorized", std::move(message),
                         "send 'Authorization: Bearer TOKEN' with a token of listen.tokens; "
                         "'mcpx token new NAME' makes one"));
  out.challenge = challenge;
  return out;
}

// basic/authorization, "Error Handling": 400 for a malformed authorization request.
Refused malformed() {
  Refused out(400,
              Error("http.bad_authorization", "the Authorization header is not one Bearer token",
                    "send one header, 'Authorization: Bearer TOKEN'"));
  out.challenge = kMalformed;
  return out;
}

std::size_t whole_seconds(Duration time) {
  return static_cast<std::size_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

}  // namespace

Access::Access(AccessOptions options) : options_(std::move(options)) {
  for (const Token& token : options_.tokens)
    principals_.push_back(std::make_unique<Principal>(&token));
  principals_.push_back(std::make_unique<Principal>(nullptr));
}

Access::~Access() = default;

// Looks at every one, found or not.
const Principal* Access::find(std::string_view sha256) const {
  const Principal* found = nullptr;
  for (const auto& principal : principals_) {
    if (principal->token_ && same(principal->token_->sha256, sha256)) found = principal.get();
  }
  return found;
}

boost::system::result<const Principal*, Refused> Access::admit(const http1::RequestHead& head,
                                                               Need need) const {
  const Principal* nameless = principals_.back().get();
  if (!asks()) return nameless;
  const auto value = head.fields.find("authorization");
  if (!value && need == Need::nothing) return nameless;
  if (!value) return unauthorized("the request carries no token", kChallenge);
  const auto token = bearer(*value);
  if (!token) return unauthorized("the Authorization header holds no Bearer token", kChallenge);
  // Two of them could be read differently by whoever stands before us.
  if (token->empty() || head.fields.count("authorization") != 1) return malformed();
  const Principal* principal = find(sha256_hex(*token));
  if (!principal) return unauthorized("the token is not known here", kNotAnybodys);
  if (may_use(*principal->token_, head.path())) return principal;
  const bool admin = covers("/v1/*", head.path());
  Refused out(
      403, Error("http.forbidden_endpoint",
                 fmt::format("the token '{}' is not for {}", principal->token_->name,
                             admin ? std::string_view("/v1") : head.path()),
                 fmt::format("add {} to listen.tokens.{}", admin ? "'admin: true'" : "the endpoint",
                             principal->token_->name)));
  out.challenge = kNotForThis;
  return out;
}

std::optional<Refused> Access::take_turn(const Principal& principal, TimePoint now) const {
  const auto interval = std::chrono::duration_cast<Duration>(std::chrono::seconds(1)).count() /
                        static_cast<Clock::rep>(options_.requests_per_second);
  const Clock::rep tolerance = interval * static_cast<Clock::rep>(options_.burst);
  const Clock::rep at = now.time_since_epoch().count();
  Clock::rep full = principal.full_at_.load(std::memory_order_relaxed);
  while (true) {
    const Clock::rep next = std::max(full, at) + interval;
    if (next - at > tolerance) {
      Refused out(429, Error("http.rate_limited",
                             fmt::format("more than {} requests a second, beyond {} at once",
                                         options_.requests_per_second, options_.burst),
                             "send fewer, or raise limits.requests_per_second or "
                             "limits.request_burst"));
      out.retry_after_seconds =
          std::max<std::size_t>(1, whole_seconds(Duration(next - at - tolerance)));
      return out;
    }
    if (principal.full_at_.compare_exchange_weak(full, next, std::memory_order_relaxed)) break;
  }
  return std::nullopt;
}

std::optional<Refused> Access::enter(const Principal& principal) const {
  if (principal.in_progress_.fetch_add(1, std::memory_order_relaxed) < options_.requests) {
    return std::nullopt;
  }
  leave(principal);
  Refused out(503, Error("http.too_many_requests",
                         fmt::format("{} requests of this client are in progress already",
                                     options_.requests),
                         "wait for some to be answered, or raise limits.requests"));
  out.retry_after_seconds = 1;
  return out;
}

void Access::leave(const Principal& principal) const {
  principal.in_progress_.fetch_sub(1, std::memory_order_relaxed);
}

std::string_view Access::name(const Principal& principal) {
  return principal.token_ ? std::string_view(principal.token_->name) : std::string_view();
}

}  // namespace mcpx::http
