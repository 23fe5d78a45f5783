// Nanoseconds per operation of the JSON hot paths: json_bench [SECONDS_EACH]. Not a test; the
// numbers of docs and reviews come from a release build of this.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "json/json.hpp"
#include "json/splice.hpp"
#include "rpc/fields.hpp"
#include "rpc/line_framer.hpp"
#include "rpc/message.hpp"

namespace mcpx {
namespace {

double seconds_each = 0.3;
std::size_t sink = 0;  // keeps the work from being optimised away

template <class Work>
void measure(const char* name, std::size_t bytes, Work work) {
  using Steady = std::chrono::steady_clock;
  std::size_t rounds = 0;
  const auto start = Steady::now();
  std::chrono::duration<double> spent{};
  while (spent.count() < seconds_each) {
    for (int i = 0; i < 64; ++i, ++rounds)
      work();
    spent = Steady::now() - start;
  }
  const double each = spent.count() / static_cast<double>(rounds);
  std::printf("%-44s %10zu B %12.0f ns %8.2f GB/s\n", name, bytes, each * 1e9,
              static_cast<double>(bytes) / each / 1e9);
}

std::string call_of(std::size_t payload) {
  std::string text =
      R"({"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"github__search_issues",)"
      R"("arguments":{"query":")";
  text.append(payload, 'q');
  return text + R"(","limit":20},"_meta":{"progressToken":"p-1"}}})";
}

std::string result_of(std::size_t blocks) {
  std::string text = R"({"result":{"content":[)";
  for (std::size_t i = 0; i < blocks; ++i) {
    text += std::string(i > 0 ? "," : "") + R"({"type":"text","text":"line )" + std::to_string(i) +
            R"( with \"quotes\"","annotations":{"priority":0.5,"audience":["user"]}})";
  }
  return text + R"(]},"jsonrpc":"2.0","id":7})";
}

void bench_message(const char* name, const std::string& text) {
  std::printf("-- %s\n", name);
  measure("copy into a buffer", text.size(), [&] { sink += PaddedBuffer(text).size(); });
  measure("json::validate", text.size(),
          [&] { sink += json::validate(text, json::Limits{}).has_value(); });
  measure("read_fields", text.size(), [&] { sink += rpc::read_fields(text).id.size(); });
  measure("rpc::parse, copy included", text.size(),
          [&] { sink += rpc::parse(PaddedBuffer(text), json::Limits{})->id.size(); });
  const auto message = rpc::parse(PaddedBuffer(text), json::Limits{});
  const json::Raw params = message->params.empty() ? message->result : message->params;
  std::string out;
  measure("splice the name, write a request", params.size(), [&] {
    out.clear();
    const std::string edited = json::Splice(params).set("name", "\"search\"").text();
    rpc::append_request(out, "1", "tools/call", edited);
    sink += out.size();
  });
  const std::string line = text + "\n";
  rpc::LineFramer framer(64 * 1024 * 1024);
  measure("LineFramer, pieces of 64 KB", line.size(), [&] {
    for (std::size_t at = 0; at < line.size(); at += 65536) {
      framer.feed(std::string_view(line).substr(at, 65536));
      while (const auto found = framer.next())
        ++sink;
    }
  });
  measure("IdScanner", line.size(), [&] {
    rpc::IdScanner scanner;
    scanner.feed(line);
    sink += scanner.id().size();
  });
}

}  // namespace
}  // namespace mcpx

int main(int argc, char** argv) {
  if (argc > 1) mcpx::seconds_each = std::atof(argv[1]);
  mcpx::bench_message("tools/call, small", mcpx::call_of(60));
  mcpx::bench_message("tools/call, one long string", mcpx::call_of(10'000));
  mcpx::bench_message("tools/call, 256 KB string", mcpx::call_of(256 * 1024));
  mcpx::bench_message("result, 100 blocks", mcpx::result_of(100));
  mcpx::bench_message("result, 30,000 blocks", mcpx::result_of(30'000));
  return mcpx::sink == 0;
}
