// The book over a scripted server: who is asked, how many there may be, and how it stops.
#include "tasks/book.hpp"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/error_codes.hpp"
#include "unit/downstream/fake_upstream.hpp"
#include "unit/store/harness.hpp"

namespace mcpx::tasks {
namespace {

using runtime::Shard;
using store::Store;
using store::test::Directory;
using store::test::kPatience;
using store::test::on_shard;
using store::test::options;
using store::test::with_store;

using test::script;

const char* const kWorking = R"({"resultType":"complete","taskId":"u","status":"working",)"
                             R"("createdAt":"x","lastUpdatedAt":"y","ttlMs":60000})";

const char* const kCompleted =
    R"({"resultType":"complete","taskId":"u","status":"completed","createdAt":"x",)"
    R"("lastUpdatedAt":"y","ttlMs":60000,"result":{"content":[]}})";
const char* const kForm = R"({"method":"elicitation/create","params":{"message":"?",)"
                          R"("requestedSchema":{"type":"object","properties":{}}}})";
const char* const kSampling =
    R"({"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}})";

std::string asking(int questions, const char* question) {
  json::ObjectBuilder requests;
  for (int i = 0; i < questions; ++i)
    requests.raw("q" + std::to_string(i), question);
  return R"({"resultType":"complete","taskId":"u","status":"input_required","createdAt":"x",)"
         R"("lastUpdatedAt":"y","ttlMs":60000,"inputRequests":)" +
         requests.take() + "}";
}

call::Outcome modern_outcome(const std::string& result) {
  return call::Outcome::of_result(result, mcp::kLatestModern);
}

// Answers tasks/get with that, and everything else with nothing much.
Task<call::Outcome> answered(mcp::Method method, std::string task) {
  const bool get = method == mcp::Method::tasks_get;
  co_return modern_outcome(get ? task : R"({"resultType":"complete"})");
}

// Answers when its caller gives up.
Task<call::Outcome> never(runtime::CancelSource* cancel) {
  REQUIRE(cancel != nullptr);
  runtime::OneShot<bool> over;
  const auto subscription = cancel->subscribe([&over](const std::string&) { over.set(true); });
  co_await over.wait();
  const Error error("request.cancelled", "the caller cancelled the request");
  co_return call::Outcome::of_failure(mcp::kRequestCancelled, error);
}

struct Shelf {
  explicit Shelf(Shard& shard, Store* store = nullptr) {
    test::forget_scripts();
    config::Server named;
    named.name = "far";
    server = std::make_shared<upstream::Server>(shard, named, environment);
    Book::Hooks hooks;
    hooks.server = [this](std::string_view) { return server; };
    hooks.config = [this]() -> const config::Config& { return config; };
    hooks.changed = [](const State&, const Owner&) {};
    book = std::make_unique<Book>(shard, store, std::move(hooks));
  }

  config::Config config;
  upstream::Environment environment;
  std::shared_ptr<upstream::Server> server;
  std::unique_ptr<Book> book;
};

Made made(const std::string& principal = "ann") {
  Report report;
  report.id = "u";
  report.ttl = 60'000;
  report.poll = 50;
  Owner owner;
  owner.principal = principal;
  return Made("far", mcp::Era::modern, std::move(report), std::move(owner), Origin());
}

std::string code_of(json::Raw error) {
  return json::find_string(json::find(error, "data").value_or("{}"), "code").value_or("");
}

std::shared_ptr<Wait> somebody(std::shared_ptr<call::Asker> asker, mcp::Askable askable) {
  auto wait = std::make_shared<Wait>();
  wait->asker = std::move(asker);
  wait->askable = askable;
  wait->shard = &Shard::current();
  return wait;
}

Task<void> two_questions(Shard& shard) {
  Shelf shelf(shard);
  script("far").call = [](const call::Call& call) {
    return answered(call.method, asking(2, kSampling));
  };
  const std::shared_ptr<Wait> wait = somebody(nullptr, 0);
  Made task = made();
  const call::Outcome outcome = co_await shelf.book->see_through(std::move(task), wait);
  CHECK(outcome.error == mcp::undeclared_error(mcp::QuestionKind::sampling, 0));
  co_await shelf.book->join();
}

// What it may be shown is what it has declared.
Task<void> asks_too_much(Shard& shard) {
  Shelf shelf(shard);
  int cancelled = 0;
  script("far").call = [&cancelled](const call::Call& call) {
    if (call.method == mcp::Method::tasks_cancel) ++cancelled;
    return answered(call.method, asking(1, kSampling));
  };
  Made task = made();
  task.origin.askable = mcp::kAskForm;
  const Owner owner = task.owner;
  const Told created = co_await shelf.book->adopt(std::move(task));
  REQUIRE(created.state);
  const Told told = co_await shelf.book->get(created.state->id, owner);
  REQUIRE(told.state);
  CHECK(told.state->status == Status::failed);
  CHECK(told.state->questions.empty());
  CHECK(code_of(told.state->outcome) == "upstream.bad_frame");
  co_await shelf.book->join();
  CHECK(cancelled == 1);
}

Task<void> session_ends(Shard& shard) {
  Shelf shelf(shard);
  int cancelled = 0;
  script("far").call = [&cancelled](const call::Call& call) {
    if (call.method == mcp::Method::tasks_cancel) ++cancelled;
    return answered(call.method, kWorking);
  };
  Made one = made("");
  one.owner.session = "digest";
  one.owner.session_id = "s";
  Made other = made("ann");
  other.owner.session = "digest";
  other.owner.session_id = "s";
  const Owner alone = one.owner, ann = other.owner;
  const Told first = co_await shelf.book->adopt(std::move(one));
  const Told second = co_await shelf.book->adopt(std::move(other));
  REQUIRE((first.state && second.state));
  shelf.book->end_session("another");
  CHECK(shelf.book->size() == 2);
  shelf.book->end_session("s");
  CHECK(shelf.book->size() == 1);
  CHECK_FALSE(shelf.book->knows(first.state->id, alone));
  CHECK(shelf.book->knows(second.state->id, ann));  // from another of her sessions
  CHECK(cancelled == 1);
  co_await shelf.book->join();
}

// A client that says so at once, or answers.
class Client final : public call::Asker {
 public:
  explicit Client(bool gone) : gone_(gone) {}
  Task<call::Response> ask(const call::Question& question, runtime::CancelSource&) override {
    ++asked;
    call::Response response = call::Response::of_result(R"({"action":"accept","content":{}})");
    if (gone_) response = call::Response::none(question.kind, "gone");
    response.unreachable = gone_;
    co_return response;
  }
  int asked = 0;

 private:
  const bool gone_;
};

Task<call::Outcome> until_answered(mcp::Method method, std::string params, std::string& update) {
  if (method == mcp::Method::tasks_update) update = params;
  std::string task = update.empty() ? asking(1, kForm) : kCompleted;
  co_return co_await answered(method, std::move(task));
}

Task<void> wait_for_result(Book& book, std::string id, Owner owner, std::shared_ptr<Wait> wait,
                           Told& told) {
  told = co_await book.result(std::move(id), std::move(owner), std::move(wait));
}

Task<void> one_is_gone(Shard& shard) {
  Shelf shelf(shard);
  std::string update;
  script("far").call = [&update](const call::Call& call) {
    return until_answered(call.method, std::string(call.params), update);
  };
  Made task = made();
  task.origin.askable = mcp::kAskForm;
  const Owner owner = task.owner;
  const Told created = co_await shelf.book->adopt(std::move(task));
  REQUIRE(created.state);
  const auto gone = std::make_shared<Client>(true);
  const auto there = std::make_shared<Client>(false);
  const std::shared_ptr<Wait> first = somebody(gone, mcp::kAskForm);
  const std::shared_ptr<Wait> second = somebody(there, mcp::kAskForm);
  Told told_first, told_second;
  runtime::TaskGroup waiting(shard);
  waiting.spawn("first", wait_for_result(*shelf.book, created.state->id, owner, first, told_first));
  waiting.spawn("second",
                wait_for_result(*shelf.book, created.state->id, owner, second, told_second));
  co_await waiting.join();
  CHECK(gone->asked == 1);
  CHECK(there->asked == 1);
  CHECK(json::find(update, "inputResponses", "q0", "action") == R"("accept")");
  REQUIRE(told_second.state);
  CHECK(told_second.state->status == Status::completed);
  co_await shelf.book->join();
}

Task<void> adopt_one(Book& book, std::string principal, Told& told) {
  Made task = made(principal);
  told = co_await book.adopt(std::move(task));
}

Task<void> at_once(Store& store) {
  Shelf shelf(Shard::current(), &store);
  shelf.config.tasks.limit = 2;
  script("far").call = [](const call::Call& call) { return answered(call.method, kWorking); };
  std::vector<Told> told(4);
  Told other;
  runtime::TaskGroup calls(Shard::current());
  for (Told& one : told)
    calls.spawn("call", adopt_one(*shelf.book, "ann", one));
  calls.spawn("call", adopt_one(*shelf.book, "ben", other));
  co_await calls.join();
  CHECK((told[0].state && told[1].state));
  CHECK(code_of(told[2].error) == "task.limit");
  CHECK(code_of(told[3].error) == "task.limit");
  CHECK(other.state);
  CHECK(shelf.book->size() == 3);
  co_await shelf.book->join();
}

// A write of another program that lasts until it is destroyed.
class Held {
 public:
  explicit Held(const std::string& path) {
    REQUIRE(::sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
    REQUIRE(::sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~Held() { ::sqlite3_close(handle_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  sqlite3* handle_ = nullptr;
};

Task<void> written_late(Store& store, std::string file) {
  Shelf shelf(Shard::current(), &store);
  script("far").call = [](const call::Call& call) { return answered(call.method, kWorking); };
  Made task = made();
  std::optional<Held> held(file);
  const Told told = co_await shelf.book->adopt(std::move(task));
  CHECK(code_of(told.error) == "task.not_kept");
  CHECK(shelf.book->size() == 0);
  held.reset();
  co_await shelf.book->join();
}

Task<void> nothing_left(Store& store) {
  const auto rows = co_await store.tasks().load(0);
  REQUIRE(rows.has_value());
  CHECK(rows->empty());
}

Task<void> end_refused(Store& store, std::string file) {
  Shelf shelf(Shard::current(), &store);
  script("far").call = [](const call::Call& call) { return answered(call.method, kCompleted); };
  Made task = made();
  const Owner owner = task.owner;
  const Told created = co_await shelf.book->adopt(std::move(task));
  REQUIRE(created.state);
  store::test::run_sql(file,
                       "CREATE TRIGGER no BEFORE INSERT ON tasks WHEN NEW.status = 'completed' "
                       "BEGIN SELECT RAISE(ABORT, 'no'); END");
  Told told;
  const std::shared_ptr<Wait> wait = somebody(nullptr, 0);
  co_await wait_for_result(*shelf.book, created.state->id, owner, wait, told);
  REQUIRE(told.state);
  CHECK(told.state->status == Status::completed);
  CHECK(told.state->outcome == R"({"content":[]})");
  co_await shelf.book->join();
}

Task<void> stops(Shard& shard) {
  Shelf shelf(shard);
  int asked = 0;
  script("far").call = [&asked](const call::Call& call) {
    ++asked;
    return never(call.caller.cancel);
  };
  Made task = made();
  const Owner owner = task.owner;
  const Told created = co_await shelf.book->adopt(std::move(task));
  REQUIRE(created.state);
  Told told;
  runtime::TaskGroup waiting(shard);
  const std::shared_ptr<Wait> wait = somebody(nullptr, 0);
  waiting.spawn("result", wait_for_result(*shelf.book, created.state->id, owner, wait, told));
  runtime::Timer timer(shard);
  while (asked == 0) {
    co_await timer.sleep_for(Milliseconds(1));
  }
  shelf.book->shut_down();
  co_await waiting.join();
  CHECK(code_of(told.error) == "upstream.stopped");
  // It is not to be cancelled at its server: after a restart somebody may call again, and have it.
  Made another = made();
  told = co_await shelf.book->adopt(std::move(another));
  CHECK(code_of(told.error) == "upstream.stopped");
  Made third = made();
  const std::shared_ptr<Wait> other = somebody(nullptr, 0);
  const call::Outcome outcome = co_await shelf.book->see_through(std::move(third), other);
  CHECK(code_of(outcome.error) == "upstream.stopped");
  CHECK(asked == 1);
  co_await shelf.book->join();
  CHECK(asked == 1);
}

}  // namespace

TEST_CASE("book: questions that nobody can be asked end the task together") {
  on_shard(two_questions);
}

TEST_CASE("book: a server that asks for what the client has not declared has failed") {
  on_shard(asks_too_much);
}

TEST_CASE("book: with a session end the tasks that only it could ask for") {
  on_shard(session_ends);
}

TEST_CASE("book: a question that one waiting client does not hear is asked of the other") {
  on_shard(one_is_gone);
}

TEST_CASE("book: tasks that are being written count against the limit",
          "[req:tasks-resource-limits]") {
  const Directory directory;
  with_store(options(directory.path()), at_once);
}

TEST_CASE(
    "book: a task that was refused is not there after a restart, however late it is written") {
  const Directory directory;
  store::Options hurried = options(directory.path());
  hurried.write_timeout = Milliseconds(50);
  with_store(hurried, [&](Store& store) { return written_late(store, directory.file()); });
  with_store(options(directory.path()), nothing_left);
}

TEST_CASE("book: an end that the store does not take is told all the same") {
  const Directory directory;
  with_store(options(directory.path()),
             [&](Store& store) { return end_refused(store, directory.file()); });
}

TEST_CASE("book: it stops while a server says nothing, and cancels nothing there") {
  on_shard(stops);
}

}  // namespace mcpx::tasks
