// mcpx connect: standard input and output of this process, bridged to the daemon.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"
#include "command.hpp"
#include "connect_bridge.hpp"
#include "connect_io.hpp"
#include "connect_spawn.hpp"
#include "exit_codes.hpp"
#include "http/client.hpp"

namespace mcpx::cli {
namespace {

constexpr Milliseconds kPause{10'000};  // between starts of the daemon
constexpr std::size_t kLineLimit = 64u << 20;
constexpr std::size_t kMessageLimit = 128u << 20;

void note(const std::string& text) {
  std::fprintf(stderr, "mcpx connect: %s\n", text.c_str());
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(runtime::Shard& shard, http::Origin origin, const http::Client::Options& options,
                std::string authorization)
      : client_(shard, std::move(origin), options), authorization_(std::move(authorization)) {}
  Task<Result<std::unique_ptr<http::Response>>> send(const http::Request& request) override;

 private:
  http::Client client_;
  const std::string authorization_;
};

Task<Result<std::unique_ptr<http::Response>>> HttpTransport::send(const http::Request& request) {
  std::vector<http1::Field> fields(request.fields.begin(), request.fields.end());
  if (!authorization_.empty()) fields.emplace_back("Authorization", authorization_);
  http::Request own = request;
  own.fields = fields;
  Result<std::unique_ptr<http::Response>> response = co_await client_.send(own);
  co_return response;
}

// "NAME" or "p/PROFILE", each segment encoded.
std::string target_of(const std::optional<std::string>& endpoint) {
  std::string out = "/mcp";
  std::string_view rest = endpoint ? *endpoint : std::string_view();
  while (!rest.empty()) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
    out += "/" + percent_encoded(segment);
  }
  return out;
}

// Starts the daemon again when it goes away later on, now and then at most.
std::function<void()> respawner(std::string config, EnvironmentFunction environment) {
  auto next = std::make_shared<TimePoint>(Clock::now() + kPause);
  auto last = std::make_shared<std::optional<Spawned>>();
  return [next, last, config = std::move(config), environment = std::move(environment)] {
    if (Clock::now() < *next) return;
    *next = Clock::now() + kPause;
    if (*last) ended(**last);  // reaps the one before
    auto daemon = spawn_daemon(config, environment);
    if (!daemon) return note(daemon.error().text());
    note(fmt::format("mcpxd was started again; its log is {}", daemon->log));
    *last = std::move(*daemon);
  };
}

Task<void> pump(StdinReader& reader, Bridge& bridge) {
  rpc::LineFramer framer(kLineLimit);
  while (true) {
    const std::optional<std::string> chunk = co_await reader.next();
    // The last line may lack its end.
    if (!chunk && framer.pending() == 0) break;
    framer.feed(chunk ? std::string_view(*chunk) : std::string_view("\n"));
    while (true) {
      std::optional<rpc::Line> line = framer.next();
      if (!line) break;
      co_await bridge.line(std::move(*line));
    }
    if (!chunk) break;
  }
}

Task<void> bridge_stdio(runtime::Shard& shard, const http::Origin& origin,
                        const BridgeOptions& options, const Daemon& daemon,
                        std::shared_ptr<const net::TlsContext> tls) {
  http::Client::Options client;
  client.tls = std::move(tls);
  client.limits.body_bytes = kMessageLimit;
  client.idle_connections = 64;
  {
    HttpTransport transport(shard, origin, client, daemon.authorization);
    // The output finds its reader gone, the input its signal: both end the bridge.
    Bridge* ending = nullptr;
    StdinReader* input = nullptr;
    std::function<void()> gone = [&ending, &input] {
      if (ending) ending->abort("the client is gone");
      if (input) input->stop();
    };
    std::function<void()> interrupted = [&ending] {
      if (ending) ending->abort("mcpx connect was told to end");
    };
    StdoutWriter output(STDOUT_FILENO, std::move(gone));
    Bridge bridge(shard, transport, output, options);
    StdinReader reader(shard, STDIN_FILENO, std::move(interrupted));
    ending = &bridge;
    input = &reader;
    co_await pump(reader, bridge);
    co_await bridge.finish();
  }
  shard.finish();
}

}  // namespace

int run_connect(const Context& context, const Parsed& args) {
  if (!args.rest.empty()) {
    return fail_usage("connect", Error("cli.usage", "'connect' takes options only"));
  }
  if (args.has("config") && !args.has("spawn")) {
    return fail_usage("connect", Error("cli.usage", "--config belongs to --spawn"));
  }
  const auto url = http::parse_url(context.url);
  if (!url) return fail_with(context, url.error(), kUsage);
  const Daemon daemon = daemon_of(context);
  const auto tls = tls_for(daemon);
  if (!tls) return fail_with(context, tls.error(), kUsage);
  BridgeOptions options;
  options.target = target_of(args.value("endpoint"));
  options.url = context.url;
  options.note = note;
  if (const auto text = args.value("wait")) {
    const auto seconds = parse_seconds("wait", *text);
    if (!seconds) return fail_usage("connect", seconds.error());
    options.wait = std::chrono::seconds(*seconds);
  }
  if (args.has("spawn")) {
    const std::string config = args.value("config").value_or("");
    const auto running = ensure_daemon(daemon, config, options.wait, context.environment);
    if (!running) return fail_with(context, running.error(), kUnreachable);
    options.unreachable = respawner(config, context.environment);
  }
  runtime::Shard shard(0);
  runtime::TaskGroup group(shard);
  group.spawn("connect", bridge_stdio(shard, url->origin, options, daemon, *tls));
  shard.run();
  return kOk;
}

}  // namespace mcpx::cli
