#include "store/seals.hpp"

#include <functional>
#include <memory>
#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<std::vector<SealKeyRow>> all_keys(Database& database) {
  Query query = database.query("SELECT id, secret, used_from FROM seal_keys ORDER BY used_from");
  std::vector<SealKeyRow> rows;
  while (true) {
    const Result<bool> found = query.step();
    if (!found) return found.error();
    if (!*found) return rows;
    SealKeyRow row;
    row.id = query.text(0);
    row.secret = query.text(1);
    row.from = query.integer(2);
    rows.push_back(std::move(row));
  }
}

Result<std::vector<SealKeyRow>> keys_of_file(const std::string& file) {
  const Result<std::unique_ptr<Database>> database = Database::open_to_read(file);
  if (!database) return database.error();
  return all_keys(**database);
}

Result<void> put_key(Database& database, const SealKeyRow& row, std::int64_t forget_before) {
  Query old = database.query("DELETE FROM seal_keys WHERE used_from < ?1");
  if (Result<void> done = old.bind(forget_before).run(); !done) return done;
  Query query = database.query("INSERT INTO seal_keys (id, secret, used_from) VALUES (?1, ?2, ?3)");
  return query.bind(row.id).bind(row.secret).bind(row.from).run();
}

Result<bool> spend_one(Database& database, const std::string& digest, std::int64_t expiry,
                       std::int64_t now) {
  Query old = database.query("DELETE FROM spent_states WHERE expires_at < ?1");
  if (Result<void> done = old.bind(now).run(); !done) return done.error();
  Query query =
      database.query("INSERT OR IGNORE INTO spent_states (digest, expires_at) VALUES (?1, ?2)");
  if (Result<void> done = query.bind(digest).bind(expiry).run(); !done) return done.error();
  const Result<std::int64_t> made = database.number("SELECT changes()");
  if (!made) return made.error();
  return *made == 1;
}

}  // namespace

bool Seals::makes_keys() const {
  const Status status = store_.status();
  return status.state == State::disk || status.path.empty();
}

Task<Result<std::vector<SealKeyRow>>> Seals::keys() {
  const std::string file = makes_keys() ? std::string() : store_.status().path;
  std::function<Result<std::vector<SealKeyRow>>(Database&)> work = [file](Database& own) {
    if (!file.empty()) {
      Result<std::vector<SealKeyRow>> theirs = keys_of_file(file);
      if (theirs && !theirs->empty()) return theirs;
    }
    return all_keys(own);
  };
  co_return co_await store_.read<std::vector<SealKeyRow>>(std::move(work));
}

Task<Result<void>> Seals::add_key(SealKeyRow row, std::int64_t forget_before) {
  return store_.write([row = std::move(row), forget_before](Database& database) {
    return put_key(database, row, forget_before);
  });
}

Task<Result<bool>> Seals::spend(std::string digest, std::int64_t expiry, std::int64_t now) {
  const auto first = std::make_shared<bool>(false);
  std::function<Result<void>(Database&)> work = [first, digest, expiry,
                                                 now](Database& database) -> Result<void> {
    const Result<bool> spent = spend_one(database, digest, expiry, now);
    if (!spent) return spent.error();
    *first = *spent;
    return {};
  };
  const Result<void> written = co_await store_.write(std::move(work));
  if (!written) co_return written.error();
  co_return *first;
}

}  // namespace mcpx::store
