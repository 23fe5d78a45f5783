#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "unit/runtime/on_shard.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

using mcp::ListKind;

// Answers requests from a script, in order, and keeps what was asked.
class ScriptedLink final : public Link {
 public:
  Task<Result<rpc::Message>> request(std::string_view method, std::string params, TimePoint,
                                     OnGiveUp) override {
    asked.emplace_back(std::string(method), std::move(params));
    if (replies.empty()) co_return Error("upstream.timeout", "the script has ended");
    auto parsed = rpc::parse(PaddedBuffer(replies.front()), json::Limits());
    replies.pop_front();
    REQUIRE(parsed.has_value());
    co_return std::move(*parsed);
  }
  Task<Result<void>> notify(std::string_view, std::string) override { co_return Result<void>(); }
  Task<Reply> forward(const Forward&) override { co_return rpc::Message(); }
  void established(const mcp::ServerFacts& facts_in) override { facts_ = facts_in; }
  const mcp::ServerFacts& facts() const override { return facts_; }
  std::string_view client_info() const override { return R"({"name":"mcpx"})"; }
  bool alive() const override { return true; }
  std::size_t children() const override { return 0; }
  std::vector<std::string> stderr_tail() const override { return {}; }
  void hurry() override {}
  Transport transport() const override { return over; }
  Transport over = Transport::stdio;
  Task<void> stop(Milliseconds) override { co_return; }

  void reply(const std::string& result) {
    replies.push_back(R"({"jsonrpc":"2.0","id":1,"result":)" + result + "}");
  }
  std::deque<std::string> replies;
  std::vector<std::pair<std::string, std::string>> asked;

 private:
  mcp::ServerFacts facts_;
};

using CatalogueResult = Result<std::shared_ptr<const Catalogue>>;
const std::vector<ListKind> kTools = {ListKind::tools};

mcp::ServerFacts facts_of(const char* capabilities) {
  mcp::ServerFacts facts;
  facts.capabilities = capabilities;
  return facts;
}

Task<void> pages_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{}})"));
  link.reply(R"({"tools":[{"name":"a"},{"name":"b"}],"nextCursor":""})");
  link.reply(R"({"tools":[{"name":"c"}],"nextCursor":"x\"y"})");
  link.reply(R"({"tools":[{"name":"d","n":1.0}]})");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.has_value());
  const List& list = (*read)->list(ListKind::tools);
  REQUIRE(list.items.size() == 4);
  REQUIRE(list.items[3].definition == R"({"name":"d","n":1.0})");
  REQUIRE(link.asked[0].second == "{}");
  REQUIRE(link.asked[1].second == R"({"cursor":""})");
  REQUIRE(link.asked[2].second == R"({"cursor":"x\"y"})");
  REQUIRE((*read)->remarks.empty());
}

TEST_CASE("C30: only an absent nextCursor ends a list, and cursors go back as they came",
          "[req:pagination-cursor-opaque][req:pagination-missing-nextcursor-end]"
          "[req:pagination-empty-cursor-not-end]") {
  test::on_shard(pages_body);
}

Task<void> loop_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{}})"));
  for (int i = 0; i < 3; ++i)
    link.reply(R"({"tools":[{"name":"a"}],"nextCursor":"same"})");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.has_value());
  REQUIRE(link.asked.size() == 2);
  REQUIRE((*read)->list(ListKind::tools).items.size() == 1);
  REQUIRE((*read)->remarks.size() == 2);  // listed twice, and the cursor
}

TEST_CASE("C31: a server that repeats a cursor is read once, kept and reported") {
  test::on_shard(loop_body);
}

Task<void> endless_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{}})"));
  const std::string text(1024 * 1024, 'x');
  for (int i = 0; i < 200; ++i) {
    link.reply(fmt::format(R"({{"tools":[{{"name":"{}"}}],"nextCursor":"{}{}"}})", i, text, i));
  }
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(60'000));
  REQUIRE(read.has_value());
  REQUIRE(link.asked.size() == 128);
  REQUIRE((*read)->list(ListKind::tools).items.size() == 128);
  REQUIRE((*read)->remarks.size() == 1);
  REQUIRE((*read)->remarks[0].find("does not end: 128 pages") != std::string::npos);
}

TEST_CASE("C31: a list without end is read up to a bound, kept and reported") {
  test::on_shard(endless_body);
}

Task<void> long_names_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{}})"));
  const std::string entry = R"({"name":")" + std::string(100'000, 'x') + R"("})";
  link.reply(R"({"tools":[)" + entry + "," + entry + "]}");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE((*read)->remarks.at(0).size() < 1000);
  link.replies.push_back(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":")" +
                         std::string(100'000, 'x') + R"("}})");
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.error().message.size() < 1000);
}

TEST_CASE("remarks and errors hold a short part of what the server said") {
  test::on_shard(long_names_body);
}

Task<void> partial_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{},"resources":{}})"));
  const std::vector<ListKind> all = {ListKind::tools, ListKind::prompts, ListKind::resources,
                                     ListKind::resource_templates};
  link.reply(R"({"tools":[{"name":"a"},{"title":"no name"},7]})");
  link.reply(R"({"resources":[{"uri":"x:y","name":"r"}]})");
  link.replies.push_back(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})");
  CatalogueResult read = co_await read_catalogue(link, all, nullptr, Milliseconds(1000));
  REQUIRE(read.has_value());
  REQUIRE((*read)->list(ListKind::tools).items.size() == 1);
  REQUIRE((*read)->list(ListKind::resources).items.size() == 1);
  REQUIRE((*read)->list(ListKind::resource_templates).items.empty());
  REQUIRE(link.asked.size() == 3);  // prompts were not declared, so not asked for
  // A later reading of one list keeps the others.
  link.reply(R"({"tools":[]})");
  CatalogueResult again = co_await read_catalogue(link, kTools, *read, Milliseconds(1000));
  REQUIRE((*again)->list(ListKind::tools).items.empty());
  REQUIRE((*again)->list(ListKind::resources).items.size() == 1);
}

TEST_CASE("odd entries and missing lists are remarked on, the rest is used") {
  test::on_shard(partial_body);
}

Task<void> modern_body(runtime::Shard&) {
  ScriptedLink link;
  mcp::ServerFacts facts = facts_of(R"({"tools":{}})");
  facts.revision = mcp::Revision::r2026_07_28;
  link.established(facts);
  link.reply(R"({"tools":[],"nextCursor":"n","ttlMs":900,"cacheScope":"public"})");
  link.reply(R"({"tools":[],"ttlMs":-5,"cacheScope":"private"})");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.has_value());
  const List& list = (*read)->list(ListKind::tools);
  REQUIRE(list.ttl_ms == 0);
  REQUIRE(list.is_private);
  for (const auto& [method, params] : link.asked) {
    REQUIRE(json::find(params, "_meta", "io.modelcontextprotocol/protocolVersion"));
  }
}

TEST_CASE("caching of a list is the narrowest of its pages", "[req:caching-ttl-negative-zero]") {
  test::on_shard(modern_body);
}

constexpr const char* kAnnotated =
    R"({"resultType":"complete","tools":[{"name":"bad","inputSchema":{"properties":)"
    R"({"a":{"type":"number","x-mcp-header":"A"}}}},{"name":"good","inputSchema":{"properties":)"
    R"({"a":{"type":"string","x-mcp-header":"A"}}}}]})";

Task<void> annotated_body(runtime::Shard&) {
  for (const bool modern : {true, false}) {
    for (const Transport over : {Transport::http, Transport::stdio}) {
      ScriptedLink link;
      link.over = over;
      mcp::ServerFacts facts = facts_of(R"({"tools":{},"prompts":{}})");
      facts.revision = modern ? mcp::Revision::r2026_07_28 : mcp::Revision::r2025_11_25;
      link.established(facts);
      link.reply(kAnnotated);
      CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
      REQUIRE(read.has_value());
      const auto& items = (*read)->list(ListKind::tools).items;
      if (!modern || over == Transport::stdio) {
        REQUIRE(items.size() == 2);
        REQUIRE((*read)->remarks.empty());
        continue;
      }
      REQUIRE(items.size() == 1);
      REQUIRE(items[0].id == "good");
      REQUIRE((*read)->traits_of("good")->mirrored.size() == 1);
      REQUIRE((*read)->remarks.size() == 1);
      REQUIRE((*read)->remarks[0].find("'bad' was left out") != std::string::npos);
      // Reading another list does not make it forgotten.
      const std::vector<ListKind> prompts = {ListKind::prompts};
      link.reply(R"({"resultType":"complete","prompts":[]})");
      CatalogueResult again = co_await read_catalogue(link, prompts, *read, Milliseconds(1000));
      REQUIRE((*again)->remarks == (*read)->remarks);
      REQUIRE((*again)->traits_of("good") != nullptr);
    }
  }
}

TEST_CASE("a tool with invalid x-mcp-header annotations is left out, of modern HTTP servers only",
          "[req:streamable-http-client-rejects-invalid-x-mcp-header]"
          "[req:tools-x-mcp-header-reject-excludes][req:tools-x-mcp-header-stdio-may-ignore]") {
  test::on_shard(annotated_body);
}

Task<void> fresh_body(runtime::Shard&) {
  ScriptedLink link;
  mcp::ServerFacts facts = facts_of(R"({"tools":{}})");
  link.established(facts);
  link.reply(R"({"tools":[],"ttlMs":1})");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE((*read)->list(ListKind::tools).fresh_until == kNever);  // legacy

  facts.revision = mcp::Revision::r2026_07_28;
  link.established(facts);
  const TimePoint before = Clock::now();
  link.reply(R"({"tools":[],"nextCursor":"n","ttlMs":900000})");
  link.reply(R"({"tools":[],"ttlMs":60000})");
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  const TimePoint until = (*read)->list(ListKind::tools).fresh_until;
  REQUIRE(until >= before + Milliseconds(60'000));
  REQUIRE(until <= Clock::now() + Milliseconds(60'000));
  link.reply(R"({"tools":[]})");
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE((*read)->list(ListKind::tools).fresh_until <= Clock::now());
  link.reply(R"({"tools":[],"ttlMs":9223372036854775807})");
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE((*read)->list(ListKind::tools).fresh_until > Clock::now());
}

TEST_CASE("a modern list is fresh for as long as its pages allow, a legacy one until it changes",
          "[req:caching-ttl-positive-fresh][req:caching-ttl-zero-stale]"
          "[req:caching-ttl-absent-zero]") {
  test::on_shard(fresh_body);
}

Task<void> result_type_body(runtime::Shard&) {
  ScriptedLink link;
  mcp::ServerFacts facts = facts_of(R"({"tools":{}})");
  facts.revision = mcp::Revision::r2026_07_28;
  link.established(facts);
  for (const char* type : {"partial", "input_required"}) {
    link.reply(R"({"tools":[],"resultType":")" + std::string(type) + "\"}");
    CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
    REQUIRE(read.error().code == "upstream.bad_frame");
  }
}

TEST_CASE("a list whose resultType is not known is no list",
          "[req:messages-resulttype-unknown-invalid]") {
  test::on_shard(result_type_body);
}

Task<void> broken_body(runtime::Shard&) {
  ScriptedLink link;
  link.established(facts_of(R"({"tools":{}})"));
  link.reply(R"({"tools":{}})");
  CatalogueResult read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.error().code == "upstream.bad_frame");
  link.replies.push_back(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"tired"}})");
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.error().code == "upstream.list_failed");
  REQUIRE(read.error().message.find("tired") != std::string::npos);
  read = co_await read_catalogue(link, kTools, nullptr, Milliseconds(1000));
  REQUIRE(read.error().code == "upstream.timeout");
}

TEST_CASE("a list that cannot be read is an error that says why") {
  test::on_shard(broken_body);
}

}  // namespace
}  // namespace mcpx::upstream
