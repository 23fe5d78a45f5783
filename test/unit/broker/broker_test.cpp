// Questions from their first word to the end: answered, raced for, expired, withdrawn, and over a
// restart of the daemon.
#include "broker/broker.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "broker/stand_in.hpp"
#include "unit/store/harness.hpp"

namespace mcpx::broker {
namespace {

using mcp::QuestionKind;
using runtime::Shard;
using store::Store;
using store::test::Directory;
using store::test::kPatience;
using store::test::options;
using store::test::with_store;

call::Question question() {
  return call::Question(
      QuestionKind::form, "elicitation/create",
      R"({"message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}})",
      "tracker");
}

Origin origin(const std::string& key) {
  Origin made;
  made.target = "create";
  made.call_key = key;
  return made;
}

Answer answer(const std::string& id, const std::string& action, const std::string& content = {}) {
  Answer made;
  made.id = id;
  made.action = action;
  made.content = content;
  made.surface = "cli";
  made.by = "ann";
  return made;
}

// One who asks, and what came of it.
struct Asking {
  explicit Asking(Shard& shard) : tasks(shard) {}

  void ask(Broker& broker, Origin from) {
    from.told = [this](const store::QuestionRow& row) { told.set(row.id); };
    tasks.spawn("ask", run(broker, std::move(from)));
  }
  Task<void> run(Broker& broker, Origin from) {
    const call::Question what = question();
    asked = co_await broker.ask(what, from, withdrawn);
  }

  runtime::TaskGroup tasks;
  runtime::CancelSource withdrawn;
  runtime::OneShot<std::string> told;
  Asked asked;
};

config::Broker patient() {
  config::Broker config;
  config.timeout = kPatience;
  return config;
}

// What was posted before is done and written.
Task<void> written(Store& store) {
  runtime::OneShot<bool> turn;
  Shard::current().post([&turn] { turn.set(true); });
  co_await turn.wait();
  store::QuestionRow last;
  last.id = "last";
  last.state = "expired";
  const Result<void> kept = co_await store.questions().put(std::move(last));
  CHECK(kept.has_value());
}

Task<void> answered_body(Store& store) {
  Broker broker(Shard::current(), store, patient());
  Asking asking(Shard::current());
  asking.ask(broker, origin("call"));
  const std::string id = co_await asking.told.wait();
  const auto waiting_read = co_await broker.list("pending");
  REQUIRE(waiting_read.has_value());
  const auto& waiting = *waiting_read;
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0].id == id);
  CHECK(waiting[0].target == "create");
  // Durable before anybody is told.
  const auto kept = co_await store.questions().find(id);
  REQUIRE((kept.has_value() && kept->has_value()));
  CHECK((*kept)->state == "pending");

  const auto short_name = co_await broker.answer(answer(id, "accept", R"({"name":"A"})"));
  REQUIRE(short_name.has_error());
  CHECK(short_name.error().code == "broker.invalid");
  const auto row = co_await broker.answer(answer(id, "accept", R"({"name":"Ann"})"));
  REQUIRE(row.has_value());
  CHECK(row->state == "answered");
  co_await asking.tasks.join();
  CHECK(asking.asked.response.result == R"({"action":"accept","content":{"name":"Ann"}})");
  CHECK(asking.asked.id == id);

  const auto late = co_await broker.answer(answer(id, "decline"));
  REQUIRE(late.has_error());
  CHECK(late.error().code == "broker.settled");
  const auto nobody = co_await broker.answer(answer("q-0", "decline"));
  REQUIRE(nobody.has_error());
  CHECK(nobody.error().code == "broker.unknown");

  const auto audited_read = co_await broker.find(id);
  REQUIRE(audited_read.has_value());
  const auto& audited = *audited_read;
  REQUIRE(audited.has_value());
  CHECK(audited->surface == "cli");
  CHECK(audited->answered_by == "ann");
  CHECK_FALSE(audited->result.empty());  // until the call is over
  std::vector<std::string> ids = {id};
  broker.release(std::move(ids));
  co_await written(store);
  const auto over_read = co_await broker.find(id);
  REQUIRE(over_read.has_value());
  const auto& over = *over_read;
  REQUIRE(over.has_value());
  CHECK(over->result.empty());
  CHECK(over->used);
}

TEST_CASE("broker: a question waits for its answer, which counts once and is audited") {
  with_store(options(""), answered_body);
}

Task<void> race_one(Broker& broker, Answer given, int& won, int& lost) {
  const auto row = co_await broker.answer(std::move(given));
  if (row.has_value()) ++won;
  if (row.has_error() && row.error().code == "broker.settled") ++lost;
}

Task<void> race_body(Store& store) {
  Broker broker(Shard::current(), store, patient());
  Asking asking(Shard::current());
  asking.ask(broker, origin(""));
  const std::string id = co_await asking.told.wait();
  int won = 0, lost = 0;
  runtime::TaskGroup racers(Shard::current());
  for (int i = 0; i < 8; ++i)
    racers.spawn("answer", race_one(broker, answer(id, "decline"), won, lost));
  co_await racers.join();
  CHECK(won == 1);
  CHECK(lost == 7);
  co_await asking.tasks.join();
  CHECK(asking.asked.response.result == R"({"action":"decline"})");
  co_await broker.join();
}

TEST_CASE("broker: of several answers one counts, and the others are told") {
  with_store(options(""), race_body);
}

Task<void> ends_body(Store& store) {
  config::Broker config = patient();
  config.timeout = Milliseconds(1);
  Broker broker(Shard::current(), store, config);
  Asking late(Shard::current());
  late.ask(broker, origin("late"));
  const std::string late_id = co_await late.told.wait();
  co_await late.tasks.join();
  CHECK(late.asked.response.result == R"({"action":"cancel"})");
  config.timeout = kPatience;
  broker.configure(config);
  Asking gone(Shard::current());
  gone.ask(broker, origin("gone"));
  const std::string gone_id = co_await gone.told.wait();
  gone.withdrawn.cancel("the call is over");
  co_await gone.tasks.join();
  CHECK(gone.asked.response.result == R"({"action":"cancel"})");
  CHECK(broker.pending() == 0);
  co_await broker.join();
  const auto expired_read = co_await broker.find(late_id);
  REQUIRE(expired_read.has_value());
  const auto& expired = *expired_read;
  REQUIRE(expired.has_value());
  CHECK(expired->state == "expired");
  const auto withdrawn_read = co_await broker.find(gone_id);
  REQUIRE(withdrawn_read.has_value());
  const auto& withdrawn = *withdrawn_read;
  REQUIRE(withdrawn.has_value());
  CHECK(withdrawn->state == "withdrawn");
}

TEST_CASE("broker: what nobody answers in time, or nobody wants to know any more, is cancelled") {
  with_store(options(""), ends_body);
}

Task<void> bounds_body(Store& store) {
  config::Broker config = patient();
  config.questions = 1;
  Broker broker(Shard::current(), store, config);
  Asking first(Shard::current()), second(Shard::current());
  first.ask(broker, origin("a"));
  const std::string id = co_await first.told.wait();
  second.ask(broker, origin("b"));
  co_await second.tasks.join();
  CHECK(second.asked.response.result == R"({"action":"cancel"})");
  config.questions = 8;
  config.question_bytes = 16;
  broker.configure(config);
  Asking large(Shard::current());
  large.ask(broker, origin("c"));
  co_await large.tasks.join();
  CHECK(large.asked.response.result == R"({"action":"cancel"})");
  CHECK(broker.pending() == 1);
  config.question_bytes = 4096;
  config.policy = config::BrokerPolicy::decline;
  broker.configure(config);
  broker.limit(2);
  Asking often(Shard::current());
  for (const char* key : {"d", "e"}) {
    Origin from;
    from.call_key = key;
    often.tasks.spawn("ask", often.run(broker, std::move(from)));
    co_await often.tasks.join();
    CHECK(often.asked.response.result == R"({"action":"decline"})");
  }
  Origin from;
  from.call_key = "f";
  often.tasks.spawn("ask", often.run(broker, std::move(from)));
  co_await often.tasks.join();
  CHECK(often.asked.response.result == R"({"action":"cancel"})");
  first.withdrawn.cancel("over");
  co_await first.tasks.join();
  co_await broker.join();
}

TEST_CASE("broker: number, size and pace of what is asked are bounded") {
  with_store(options(""), bounds_body);
}

// The daemon dies right after an answer was acknowledged: its call never got it.
Task<void> killed_body(Store& store, std::string& id) {
  Broker broker(Shard::current(), store, patient());
  Asking asking(Shard::current()), orphan(Shard::current());
  asking.ask(broker, origin("call"));
  id = co_await asking.told.wait();
  const auto row = co_await broker.answer(answer(id, "accept", R"({"name":"Ann"})"));
  REQUIRE(row.has_value());
  orphan.ask(broker, origin("other"));
  co_await orphan.told.wait();
  co_await asking.tasks.join();
  broker.shut_down();
  co_await orphan.tasks.join();
  co_await broker.join();
}

Task<void> restarted_body(Store& store, const std::string& id) {
  Broker broker(Shard::current(), store, patient());
  const auto again = co_await broker.load();
  CHECK(again.empty());
  CHECK(broker.pending() == 0);
  Asking asking(Shard::current());
  asking.ask(broker, origin("call"));
  co_await asking.tasks.join();
  CHECK(asking.asked.response.result == R"({"action":"accept","content":{"name":"Ann"}})");
  CHECK(asking.asked.id == id);
  co_await broker.join();
  const auto orphans_read = co_await broker.list("orphaned");
  REQUIRE(orphans_read.has_value());
  const auto& orphans = *orphans_read;
  CHECK(orphans.size() == 1);
}

TEST_CASE("broker: an acknowledged answer is there for the same call after a restart") {
  Directory directory;
  std::string id;
  with_store(options(directory.path()), [&](Store& store) { return killed_body(store, id); });
  with_store(options(directory.path()), [&](Store& store) { return restarted_body(store, id); });
}

Task<void> leave_redriven_body(Store& store, std::string& id) {
  Broker broker(Shard::current(), store, patient());
  Asking asking(Shard::current());
  Origin from = origin("call");
  from.redrive = R"({"a":1})";
  asking.ask(broker, std::move(from));
  id = co_await asking.told.wait();
  broker.shut_down();
  co_await asking.tasks.join();
  co_await broker.join();
}

Task<void> redriven_body(Store& store, const std::string& id) {
  Broker broker(Shard::current(), store, patient());
  const auto again = co_await broker.load();
  REQUIRE(again.size() == 1);
  CHECK(again[0].redrive == R"({"a":1})");
  Asking asking(Shard::current());
  asking.ask(broker, origin("call"));
  const std::string same = co_await asking.told.wait();
  CHECK(same == id);
  const auto row = co_await broker.answer(answer(id, "accept", R"({"name":"Ann"})"));
  REQUIRE(row.has_value());
  co_await asking.tasks.join();
  CHECK(asking.asked.response.result == R"({"action":"accept","content":{"name":"Ann"}})");
  co_await broker.join();
}

TEST_CASE("broker: a question whose call is made again waits on over a restart") {
  Directory directory;
  std::string id;
  with_store(options(directory.path()),
             [&](Store& store) { return leave_redriven_body(store, id); });
  with_store(options(directory.path()), [&](Store& store) { return redriven_body(store, id); });
}

Task<void> ask_in_place(StandIn& stand_in, call::Response& response,
                        runtime::CancelSource& withdrawn) {
  const call::Question what = question();
  response = co_await stand_in.ask(what, withdrawn);
}

Task<void> gives_way_body(Store& store) {
  Broker broker(Shard::current(), store, patient());
  runtime::OneShot<bool> told;
  Origin from = origin("call");
  from.told = [&told](const store::QuestionRow&) { told.set(true); };
  const auto stand_in =
      std::make_shared<StandIn>(broker, nullptr, mcp::Askable{0}, mcp::kAskForm, std::move(from));
  CHECK(stand_in->away_since() == kNever);
  runtime::CancelSource withdrawn;
  call::Response response;
  runtime::TaskGroup tasks(Shard::current());
  tasks.spawn("ask", ask_in_place(*stand_in, response, withdrawn));
  co_await told.wait();
  CHECK(stand_in->away_since() != kNever);
  stand_in->give_way();
  co_await tasks.join();
  CHECK(response.result == R"({"action":"cancel"})");
  CHECK(stand_in->away_since() == kNever);
  CHECK(broker.pending() == 0);
  co_await broker.join();
}

TEST_CASE("broker: a call that waits for somebody gives way, and its server is answered") {
  with_store(options(""), gives_way_body);
}

Task<void> events_body(Store& store) {
  Broker broker(Shard::current(), store, patient());
  const Batch start = co_await broker.events("", Milliseconds(0));
  CHECK(start.events.empty());
  Asking asking(Shard::current());
  asking.ask(broker, origin("call"));
  const std::string id = co_await asking.told.wait();
  const auto row = co_await broker.answer(answer(id, "decline"));
  REQUIRE(row.has_value());
  const Batch news = co_await broker.events(start.last, kPatience);
  REQUIRE(news.events.size() == 2);
  CHECK_FALSE(news.missed);
  CHECK(news.events[0].json.find("question.created") != std::string::npos);
  CHECK(news.events[1].json.find("question.answered") != std::string::npos);
  const Batch rest = co_await broker.events(news.events[0].id, Milliseconds(0));
  REQUIRE(rest.events.size() == 1);
  CHECK(rest.events[0].id == news.events[1].id);
  for (const char* strange : {"0-1", "x", "-"}) {
    const Batch other = co_await broker.events(strange, Milliseconds(0));
    CHECK(other.missed);
  }
  co_await asking.tasks.join();
  co_await broker.join();
}

TEST_CASE("broker: who follows its events gets each once, and knows when some are missing") {
  with_store(options(""), events_body);
}

}  // namespace
}  // namespace mcpx::broker
