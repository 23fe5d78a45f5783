#include "unit/downstream/fake_upstream.hpp"

#include <map>
#include <utility>

namespace mcpx::test {
namespace {

std::map<std::string, ServerScript>& scripts() {
  static std::map<std::string, ServerScript> all;
  return all;
}

void fill(upstream::List& list, const std::vector<std::string>& ids, mcp::ListKind kind) {
  for (const std::string& id : ids) {
    json::ObjectBuilder definition;
    definition.string(mcp::info(kind).id_member, id);
    if (kind == mcp::ListKind::resources) definition.string("name", id);
    definition.string("description", "the " + id);
    if (kind == mcp::ListKind::tools) definition.raw("inputSchema", R"({"type":"object"})");
    list.items.push_back({id, definition.take()});
  }
}

}  // namespace

ServerScript& script(const std::string& name) {
  return scripts()[name];
}
void forget_scripts() {
  scripts().clear();
}

std::shared_ptr<const upstream::Catalogue> catalogue_of(const std::vector<std::string>& tools,
                                                        const std::vector<std::string>& prompts,
                                                        const std::vector<std::string>& resources) {
  auto catalogue = std::make_shared<upstream::Catalogue>();
  catalogue->facts.capabilities = R"({"tools":{},"prompts":{},"resources":{},"logging":{}})";
  const auto list = [&](mcp::ListKind kind) -> upstream::List& {
    return catalogue->lists[static_cast<std::size_t>(kind)];
  };
  fill(list(mcp::ListKind::tools), tools, mcp::ListKind::tools);
  fill(list(mcp::ListKind::prompts), prompts, mcp::ListKind::prompts);
  fill(list(mcp::ListKind::resources), resources, mcp::ListKind::resources);
  return catalogue;
}

}  // namespace mcpx::test

namespace mcpx::upstream {

std::string_view text(State state) {
  switch (state) {
    case State::disabled:
      return "disabled";
    case State::idle:
      return "idle";
    case State::starting:
      return "starting";
    case State::ready:
      return "ready";
    case State::failed:
      return "failed";
    case State::stopped:
      return "stopped";
  }
  return "";
}

struct Server::Impl {
  Impl(runtime::Shard& home_in, const config::Server& config_in)
      : home(home_in), config(config_in) {}
  runtime::Shard& home;
  const config::Server config;
  std::string info;
  Rate question_rate;
};

Server::Server(runtime::Shard& home, const config::Server& config, const Environment&)
    : impl_(std::make_shared<Impl>(home, config)) {}
Server::~Server() = default;

const std::string& Server::name() const {
  return impl_->config.name;
}
const config::Server& Server::config() const {
  return impl_->config;
}
runtime::Shard& Server::home() const {
  return impl_->home;
}
Rate& Server::question_rate() const {
  return impl_->question_rate;
}

Task<call::Outcome> Server::call(const call::Call& call) {
  test::ServerScript& script = test::script(name());
  ++script.calls;
  script.last_params = call.params;
  script.last_target = std::string(call.target_member) + "=" + call.target_value;
  if (script.call) {
    Task<call::Outcome> scripted = script.call(call);
    co_return co_await std::move(scripted);
  }
  co_return call::Outcome::of_result(R"({"content":[{"type":"text","text":")" + name() + R"("}]})",
                                     mcp::kLatestLegacy);
}

Watcher Server::watcher_of(const call::Caller&) const {
  return Watcher();
}
Task<call::Outcome> Server::watch(Watcher, std::string uri, TimePoint) {
  test::ServerScript& script = test::script(name());
  const auto refused = script.unwatchable.find(uri);
  if (refused != script.unwatchable.end()) {
    co_return call::Outcome::of_error(refused->second, mcp::kLatestLegacy);
  }
  ++script.watched[uri];
  co_return call::Outcome::of_result("{}", mcp::kLatestLegacy);
}
void Server::unwatch(const Watcher&, const std::string& uri) {
  auto& watched = test::script(name()).watched;
  if (--watched[uri] == 0) watched.erase(uri);
}
void Server::note_missed(const Watcher&, const std::string& uri) {
  std::vector<ResourceUpdate> updates;
  updates.emplace_back(std::string(), uri, uri);
  test::script(name()).on_updated(std::move(updates));
}
void Server::on_updated(std::function<void(std::vector<ResourceUpdate>)> callback) {
  test::script(name()).on_updated = std::move(callback);
}

bool Server::stale(mcp::ListKind, TimePoint) const {
  return false;
}
Task<bool> Server::renew(mcp::ListKind, TimePoint) {
  co_return true;
}
std::optional<mcp::Era> Server::era() const {
  return test::script(name()).era;
}
void Server::end_session(const std::string&) {}
void Server::roots_changed(const std::string&) {}
void Server::pass_on(ClientNotice) {}
bool Server::announces(mcp::ListKind) const {
  return false;
}
void Server::on_extension(std::function<void(ExtensionNotice)>) {}
std::string session_owner(std::string_view session) {
  return "session " + std::string(session);
}
void Server::expect_completion(std::string, std::shared_ptr<call::Completion>) {}
void Server::start() {}
Task<Result<void>> Server::refresh() {
  co_return Result<void>();
}

Task<Status> Server::status() {
  Status status = test::script(name()).status;
  status.name = name();
  co_return status;
}

std::shared_ptr<const Catalogue> Server::catalogue() const {
  return test::script(name()).catalogue;
}
void Server::on_catalogue(std::function<void(mcp::ListKind kind, bool changed)> callback) {
  test::script(name()).on_catalogue = std::move(callback);
}
void Server::on_state(std::function<void(State)> callback) {
  test::script(name()).on_state = std::move(callback);
}
Task<void> Server::stop(TimePoint) {
  co_return;
}

}  // namespace mcpx::upstream
