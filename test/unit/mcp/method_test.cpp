#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "mcp/error_codes.hpp"
#include "mcp/method.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {
namespace {

TEST_CASE("a revision is read back from its text and nothing else is a revision") {
  for (const Revision revision : kAllRevisions) {
    REQUIRE(parse_revision(text(revision)) == revision);
  }
  for (const char* other : {"", "2025-11-2", "2025-11-255", "2024-10-07", "DRAFT-2026-v1", "2"}) {
    REQUIRE_FALSE(parse_revision(other).has_value());
  }
}

TEST_CASE("2026-07-28 alone is modern") {
  for (const Revision revision : kAllRevisions) {
    REQUIRE((era_of(revision) == Era::modern) == (text(revision) == "2026-07-28"));
  }
}

TEST_CASE("every method is found by its name, and by nothing close to it") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kMethods; ++i) {
    const auto method = static_cast<Method>(i);
    const std::string name(info(method).name);
    CAPTURE(name);
    REQUIRE(info(method).method == method);
    REQUIRE(names.insert(info(method).name).second);
    REQUIRE(parse_method(name) == method);
    REQUIRE_FALSE(parse_method(name + "x").has_value());
    REQUIRE_FALSE(parse_method(name.substr(1)).has_value());
    REQUIRE_FALSE(parse_method(name.substr(0, name.size() - 1)).has_value());
    std::string swapped = name;
    swapped.back() = swapped.back() == 'z' ? 'a' : 'z';
    REQUIRE(parse_method(swapped) != method);
  }
  REQUIRE_FALSE(parse_method("").has_value());
  REQUIRE_FALSE(parse_method(std::string(1000, 'a')).has_value());
  REQUIRE_FALSE(parse_method("Tools/list").has_value());
}

TEST_CASE("methods of one era do not exist in the other") {
  for (const Method method :
       {Method::initialize, Method::ping, Method::logging_set_level, Method::resources_subscribe,
        Method::resources_unsubscribe, Method::notify_initialized,
        Method::notify_roots_list_changed, Method::roots_list, Method::sampling_create_message}) {
    CAPTURE(info(method).name);
    REQUIRE(exists_in(method, Revision::r2024_11_05));
    REQUIRE(exists_in(method, kLatestLegacy));
    REQUIRE_FALSE(exists_in(method, Revision::r2026_07_28));
  }
  for (const Method method : {Method::server_discover, Method::subscriptions_listen,
                              Method::notify_subscriptions_acknowledged}) {
    CAPTURE(info(method).name);
    REQUIRE(exists_in(method, Revision::r2026_07_28));
    REQUIRE_FALSE(exists_in(method, kLatestLegacy));
  }
  REQUIRE_FALSE(exists_in(Method::elicitation_create, Revision::r2025_03_26));
  REQUIRE(exists_in(Method::elicitation_create, Revision::r2025_06_18));
}

TEST_CASE("a list belongs to its method and capability") {
  REQUIRE(info(ListKind::resource_templates).method == Method::resources_templates_list);
  REQUIRE(info(ListKind::resource_templates).capability == "resources");
  REQUIRE(info(ListKind::resource_templates).id_member == "uriTemplate");
  for (std::size_t i = 0; i < kListKinds; ++i) {
    REQUIRE(info(static_cast<ListKind>(i)).kind == static_cast<ListKind>(i));
    REQUIRE(info(info(static_cast<ListKind>(i)).method).cacheable);
  }
}

TEST_CASE("codes of our own stand outside the range that JSON-RPC reserves",
          "[req:errors-legacy-subrange-no-new-codes][req:errors-new-codes-outside-jsonrpc-range]"
          "[req:errors-local-errors-not-mistaken-for-peer]") {
  for (const int code : {kUpstreamFailure, kRequestCancelled}) {
    REQUIRE((code < -32768 || code > -32000));
  }
}

}  // namespace
}  // namespace mcpx::mcp
