// SessionDirectory on several shards: what one creates or ends, all know before it is answered.
#include "downstream/session.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hop.hpp"

namespace mcpx::downstream {
namespace {

struct Seen {
  bool error = false;
  std::vector<bool> known;        // by shard, after create
  std::vector<bool> known_after;  // by shard, after end
};

Task<bool> knows(const SessionDirectory& directory, std::string id) {
  co_return directory.find(id) != nullptr;
}

Task<std::vector<bool>> ask_all(SessionDirectory& directory,
                                const std::vector<runtime::Shard*>& shards, std::string id) {
  std::vector<bool> answers;
  for (runtime::Shard* shard : shards) {
    const std::function<Task<bool>()> make = [&directory, id] { return knows(directory, id); };
    const bool known = co_await runtime::run_on<bool>(*shard, make);
    answers.push_back(known);
  }
  co_return answers;
}

Task<void> live_and_die(SessionDirectory& directory, std::vector<runtime::Shard*> shards,
                        std::promise<Seen>& done) {
  Seen seen;
  const auto created = co_await directory.create(std::make_shared<Session>());
  seen.error = created.has_error();
  const std::string id = (*created)->id;
  seen.known = co_await ask_all(directory, shards, id);
  co_await directory.end(*created);
  seen.known_after = co_await ask_all(directory, shards, id);
  done.set_value(seen);
}

TEST_CASE("every shard knows a session once it is created, and none once it is ended") {
  runtime::Shard first(0), second(1), third(2);
  const std::vector<runtime::Shard*> shards = {&first, &second, &third};
  SessionDirectory directory(shards, 4);
  std::atomic<int> ends{0};
  directory.on_end([&](runtime::Shard&, const Session&) { ++ends; });
  for (runtime::Shard* shard : shards)
    shard->start();
  std::promise<Seen> done;
  second.post([&] { runtime::start(second, live_and_die(directory, shards, done)); });
  const Seen seen = done.get_future().get();
  for (runtime::Shard* shard : shards)
    shard->finish();
  for (runtime::Shard* shard : shards)
    shard->join();
  CHECK_FALSE(seen.error);
  CHECK(seen.known == std::vector<bool>{true, true, true});
  CHECK(seen.known_after == std::vector<bool>{false, false, false});
  CHECK(ends == 3);
  CHECK(directory.size() == 0);
}

Task<void> fill_up(SessionDirectory& directory, std::promise<std::string>& done) {
  const auto first = co_await directory.create(std::make_shared<Session>());
  SessionUse use(**first);
  const auto second = co_await directory.create(std::make_shared<Session>());
  done.set_value(second.has_error() ? second.error().code : "");
}

TEST_CASE("a session in use is never dropped for another") {
  runtime::Shard shard(0);
  SessionDirectory directory({&shard}, 1);
  shard.start();
  std::promise<std::string> done;
  shard.post([&] { runtime::start(shard, fill_up(directory, done)); });
  CHECK(done.get_future().get() == "session.limit");
  shard.finish();
  shard.join();
}

std::shared_ptr<Session> session_of(std::string principal) {
  auto session = std::make_shared<Session>();
  session->principal = std::move(principal);
  return session;
}

// Opens one for each name, the first of `used` of them in use for good, and tells whose are left.
Task<void> open_for(SessionDirectory& directory, std::vector<std::string> names, std::size_t used,
                    std::promise<std::string>& done) {
  std::vector<SessionPtr> all;
  std::vector<std::unique_ptr<SessionUse>> uses;
  std::string told;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto session = session_of(names[i]);
    const auto opened = co_await directory.create(std::move(session));
    if (!opened) {
      told += "refused ";
      continue;
    }
    all.push_back(*opened);
    if (i < used) uses.push_back(std::make_unique<SessionUse>(**opened));
    // A clock that stands still between two of them would leave open which is older.
    const TimePoint now = Clock::now();
    while (Clock::now() == now) {
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (directory.find(all[i]->id)) told += all[i]->principal + std::to_string(i) + " ";
  }
  done.set_value(told);
}

struct Crowd {
  const char* name;
  std::vector<std::string> names;
  std::size_t used;
  std::string left;
};

TEST_CASE("when sessions are full, whoever has most of them makes room") {
  const Crowd crowds[] = {
      {"one client: the one idle longest", {"a", "a", "a", "a", "a"}, 0, "a1 a2 a3 a4 "},
      {"who opens without end ends own ones", {"b", "a", "a", "a", "a", "a"}, 0, "b0 a3 a4 a5 "},
      {"another is let in", {"b", "a", "a", "a", "c"}, 0, "b0 a2 a3 c4 "},
      {"all have as many: the one idle longest", {"a", "b", "c", "d", "e"}, 0, "b1 c2 d3 e4 "},
      {"as many as anybody, but all in use", {"a", "a", "b", "b", "a"}, 2, "refused a0 a1 b2 b3 "},
      {"of those in use none", {"a", "a", "a", "b", "c"}, 3, "a0 a1 a2 c4 "},
  };
  for (const Crowd& crowd : crowds) {
    DYNAMIC_SECTION(crowd.name) {
      runtime::Shard shard(0);
      SessionDirectory directory({&shard}, 4);
      shard.start();
      std::promise<std::string> done;
      shard.post(
          [&] { runtime::start(shard, open_for(directory, crowd.names, crowd.used, done)); });
      CHECK(done.get_future().get() == crowd.left);
      shard.finish();
      shard.join();
    }
  }
}

TEST_CASE("log levels have the names of MCP") {
  CHECK(Session::level_index("debug") == 0);
  CHECK(Session::level_index("emergency") == 7);
  CHECK_FALSE(Session::level_index("Debug"));
  CHECK(Session::level_name(3) == "warning");
}

}  // namespace
}  // namespace mcpx::downstream
