// docs/protocol.md carries tables that the code is the source of. A test that fails here prints the
// table to put between the markers.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "mcp/method.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {
namespace {

std::string cells(Revision first, Revision last) {
  std::string out;
  for (const Revision revision : kAllRevisions) {
    out += first <= revision && revision <= last ? " x |" : "   |";
  }
  return out + "\n";
}

std::string heading(const std::string& columns) {
  std::string names = "| " + columns + " |", rule = "|";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && names[i] == '|') rule += " --- |";
  }
  for (const Revision revision : kAllRevisions) {
    names += " " + std::string(text(revision)) + " |";
    rule += " --- |";
  }
  return names + "\n" + rule + "\n";
}

std::string feature_table() {
  std::string out = heading("feature");
  for (std::size_t i = 0; i < kFeatures; ++i) {
    const FeatureInfo& row = info(static_cast<Feature>(i));
    out += "| " + std::string(row.name) + " |" + cells(row.first, row.last);
  }
  return out;
}

std::string routing(Routing how) {
  switch (how) {
    case Routing::local:
      return "-";
    case Routing::by_name:
      return "name";
    case Routing::by_uri:
      return "uri";
    case Routing::by_ref:
      return "ref";
    case Routing::by_task:
      return "task";
  }
  return {};
}

std::string method_table() {
  std::string out = heading("method | from | routed by | cacheable");
  for (std::size_t i = 0; i < kMethods; ++i) {
    const MethodInfo& row = info(static_cast<Method>(i));
    out += "| `" + std::string(row.name) + "` | " + (row.from_client ? "client" : "server") +
           " | " + routing(row.routing) + " | " + (row.cacheable ? "yes" : "-") + " |" +
           cells(row.first, row.last);
  }
  return out;
}

// The text between "<!-- NAME:begin -->" and "<!-- NAME:end -->".
std::string section(const std::string& document, const std::string& name) {
  const std::string begin = "<!-- " + name + ":begin -->\n";
  const auto from = document.find(begin);
  const auto to = document.find("<!-- " + name + ":end -->");
  if (from == std::string::npos || to == std::string::npos) return {};
  return document.substr(from + begin.size(), to - from - begin.size());
}

TEST_CASE("the tables in docs/protocol.md are those of the code") {
  std::ifstream file(MCPX_SOURCE_DIR "/docs/protocol.md");
  std::stringstream content;
  content << file.rdbuf();
  CHECK(section(content.str(), "features") == feature_table());
  CHECK(section(content.str(), "methods") == method_table());
}

}  // namespace
}  // namespace mcpx::mcp
