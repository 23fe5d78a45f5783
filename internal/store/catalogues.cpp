#include "store/catalogues.hpp"

#include <utility>

#include "store/database.hpp"
#include "store/store.hpp"

namespace mcpx::store {
namespace {

Result<std::optional<CatalogueRow>> find_row(Database& database, const std::string& server,
                                             const std::string& digest) {
  Query query = database.query(
      "SELECT server, digest, facts, lists, saved_at FROM catalogues "
      "WHERE server = ?1 AND digest = ?2");
  const Result<bool> found = query.bind(server).bind(digest).step();
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  return CatalogueRow(query.text(0), query.text(1), query.text(2), query.text(3), query.integer(4));
}

Result<void> put_row(Database& database, const CatalogueRow& row) {
  Query query = database.query(
      "INSERT OR REPLACE INTO catalogues (server, digest, facts, lists, saved_at) "
      "VALUES (?1, ?2, ?3, ?4, ?5)");
  query.bind(row.server).bind(row.digest).bind(row.facts).bind(row.lists).bind(row.saved_at);
  return query.run();
}

}  // namespace

CatalogueRow::CatalogueRow(std::string server_, std::string digest_, std::string facts_,
                           std::string lists_, std::int64_t saved_at_)
    : server(std::move(server_)),
      digest(std::move(digest_)),
      facts(std::move(facts_)),
      lists(std::move(lists_)),
      saved_at(saved_at_) {}

Task<Result<std::optional<CatalogueRow>>> Catalogues::find(std::string server, std::string digest) {
  return store_.read<std::optional<CatalogueRow>>(
      [server = std::move(server), digest = std::move(digest)](Database& database) {
        return find_row(database, server, digest);
      });
}

Task<Result<void>> Catalogues::put(CatalogueRow row) {
  const std::size_t bytes = row.facts.size() + row.lists.size();
  return store_.write([row = std::move(row)](Database& database) { return put_row(database, row); },
                      bytes);
}

Task<Result<void>> Catalogues::drop(std::string server) {
  return store_.write([server = std::move(server)](Database& database) {
    return database.query("DELETE FROM catalogues WHERE server = ?1").bind(server).run();
  });
}

}  // namespace mcpx::store
