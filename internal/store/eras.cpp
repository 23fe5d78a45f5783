#include "store/eras.hpp"

#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<std::optional<EraRow>> find_row(Database& database, const std::string& digest) {
  Query query =
      database.query("SELECT digest, server, era, revision, saved_at FROM eras WHERE digest = ?1");
  const Result<bool> found = query.bind(digest).step();
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  return EraRow(query.text(0), query.text(1), query.text(2), query.text(3), query.integer(4));
}

Result<void> put_row(Database& database, const EraRow& row) {
  // A server has one configuration; what was found under an earlier one is of no use any more.
  Result<void> others = database.query("DELETE FROM eras WHERE server = ?1 AND digest <> ?2")
                            .bind(row.server)
                            .bind(row.digest)
                            .run();
  if (!others) return others;
  Query query = database.query(
      "INSERT OR REPLACE INTO eras (digest, server, era, revision, saved_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5)");
  query.bind(row.digest).bind(row.server).bind(row.era).bind(row.revision).bind(row.saved_at);
  return query.run();
}

}  // namespace

EraRow::EraRow(std::string digest_, std::string server_, std::string era_, std::string revision_,
               std::int64_t saved_at_)
    : digest(std::move(digest_)),
      server(std::move(server_)),
      era(std::move(era_)),
      revision(std::move(revision_)),
      saved_at(saved_at_) {}

Task<Result<std::optional<EraRow>>> Eras::find(std::string digest) {
  return store_.read<std::optional<EraRow>>(
      [digest = std::move(digest)](Database& database) { return find_row(database, digest); });
}

Task<Result<void>> Eras::put(EraRow row) {
  const std::size_t bytes = row.digest.size() + row.server.size();
  return store_.write([row = std::move(row)](Database& database) { return put_row(database, row); },
                      bytes);
}

Task<Result<void>> Eras::drop(std::string digest) {
  return store_.write([digest = std::move(digest)](Database& database) {
    return database.query("DELETE FROM eras WHERE digest = ?1").bind(digest).run();
  });
}

}  // namespace mcpx::store
