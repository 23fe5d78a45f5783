// A byte stream cut anywhere gives the lines of a naive split, and IdScanner finds the id that a
// full parse finds. The first byte is the cap, the next eight are sizes of pieces, then the stream.
#include <string>
#include <utility>
#include <vector>

#include "fuzz/check.hpp"
#include "rpc/line_framer.hpp"
#include "rpc/message.hpp"

namespace mcpx::fuzz {
namespace {

std::string shown(const rpc::Line& line) {
  if (const auto* text = std::get_if<PaddedBuffer>(&line)) return std::string(text->view());
  const auto& big = std::get<rpc::OversizedLine>(line);
  return '\n' + std::to_string(big.size) + (big.has_method ? "m" : "r") + big.id;
}

// In pieces of `step` bytes, or whole when step is 0.
rpc::IdScanner scanned(std::string_view line, std::size_t step) {
  rpc::IdScanner scanner;
  if (step == 0) step = line.size() + 1;
  for (std::size_t at = 0; at < line.size(); at += step)
    scanner.feed(line.substr(at, step));
  return scanner;
}

std::vector<std::string> naive(std::string_view bytes, std::size_t limit) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == bytes.npos) return out;
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > limit) {
      const rpc::IdScanner scanner = scanned(line, 0);
      out.push_back(shown(rpc::OversizedLine{line.size(), scanner.id(), scanner.has_method()}));
    } else if (line.find_first_not_of(" \t\r") != line.npos) {
      out.emplace_back(line);
    }
  }
}

void check_scanner(std::string_view line) {
  const rpc::IdScanner whole = scanned(line, 0);
  const rpc::IdScanner cut = scanned(line, 1);
  FUZZ_CHECK(whole.id() == cut.id());
  FUZZ_CHECK(whole.has_method() == cut.has_method());
  const auto parsed = rpc::parse(PaddedBuffer(line), json::Limits{});
  if (!parsed) return;
  FUZZ_CHECK(whole.id() == parsed->id);
  const bool call = parsed->kind == rpc::Kind::request || parsed->kind == rpc::Kind::notification;
  FUZZ_CHECK(whole.has_method() == call);
}

void run(Bytes input) {
  const std::size_t limit = input.number();
  std::size_t pieces[8];
  for (std::size_t& piece : pieces)
    piece = input.number();
  const std::string_view stream = input.rest();

  const std::vector<std::string> expected = naive(stream, limit);
  std::vector<std::string> lines;
  rpc::LineFramer framer(limit);
  for (std::size_t turn = 0; !input.rest().empty(); ++turn) {
    const std::size_t piece = pieces[turn % 8];
    framer.feed(input.take(piece / 2 + 1));
    if (piece % 2 != 0) continue;  // not drained at once
    while (const auto line = framer.next())
      lines.push_back(shown(*line));
  }
  while (const auto line = framer.next())
    lines.push_back(shown(*line));
  FUZZ_CHECK(lines == expected);
  const std::size_t last = stream.rfind('\n');
  FUZZ_CHECK(framer.pending() == (last == stream.npos ? stream.size() : stream.size() - last - 1));

  for (std::string_view rest = stream; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    check_scanner(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
}

}  // namespace
}  // namespace mcpx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mcpx::fuzz::run(mcpx::fuzz::Bytes(data, size));
  return 0;
}
