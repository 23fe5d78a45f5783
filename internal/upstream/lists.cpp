// Reading a server's lists: all pages, whatever the server does with its cursors.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "mcp/extensions.hpp"
#include "mcp/param_headers.hpp"
#include "mcp/spelling.hpp"
#include "upstream/http_reply.hpp"
#include "upstream/link.hpp"

namespace mcpx::upstream {
namespace {

// More than any honest server has; one that invents fresh cursors for ever is stopped (case C31).
constexpr std::size_t kPagesAtMost = 10'000;
constexpr std::size_t kBytesAtMost = 128 * 1024 * 1024;
constexpr int kTimeAtMost = 10;             // of a whole list, in timeouts of a page
constexpr std::size_t kRemarksAtMost = 50;  // of one list

struct Reading {
  const mcp::ListInfo& info;
  bool modern;         // the server's era
  bool rejects_tools;  // those with invalid x-mcp-header annotations
  List list;
  std::unordered_set<std::string> names;
  std::set<std::string> cursors;
  std::size_t bytes = 0;  // of all pages
  TimePoint until = kNever;
};

void remark(Reading& reading, std::string text) {
  if (reading.list.remarks.size() < kRemarksAtMost) reading.list.remarks.push_back(std::move(text));
}

std::string page_params(Link& link, const std::string& cursor) {
  json::ObjectBuilder params;
  if (!cursor.empty()) params.raw("cursor", cursor);
  if (link.facts().era() == mcp::Era::modern) {
    params.raw("_meta", mcp::modern_meta(link.facts().revision, link.client_info(),
                                         mcp::with_extensions("{}", mcp::kCarried)));
  }
  return params.take();
}

// Why a client must leave the tool out; empty for one that is fine. Only the Streamable HTTP
// transport minds (2026-07-28 server/tools, "x-mcp-header").
std::string rejection(const Reading& reading, json::Raw definition) {
  if (!reading.rejects_tools) return {};
  const auto schema = json::find(definition, "inputSchema");
  return schema ? mcp::read_param_headers(*schema).problem : std::string();
}

void take_item(Reading& reading, json::Raw definition) {
  auto id = json::find_string(definition, reading.info.id_member);
  if (!id) {
    remark(reading, fmt::format("{}: an entry without {} was left out", reading.info.member,
                                reading.info.id_member));
  } else if (!reading.names.insert(*id).second) {
    remark(reading, fmt::format("{}: '{}' is listed twice; the first is used", reading.info.member,
                                excerpt(*id)));
  } else if (const std::string why = rejection(reading, definition); !why.empty()) {
    remark(reading, fmt::format("{}: '{}' was left out: {}", reading.info.member, excerpt(*id),
                                excerpt(why)));
  } else {
    reading.list.items.push_back({std::move(*id), std::string(definition)});
  }
}

// The narrowest of the pages counts for the whole (2026-07-28 server/utilities/caching).
void take_caching(Reading& reading, json::Raw result) {
  const bool first = reading.cursors.empty();
  const auto ttl = json::find(result, "ttlMs");
  const std::int64_t ttl_ms =
      std::max<std::int64_t>(ttl ? json::as_integer(*ttl).value_or(0) : 0, 0);
  reading.list.ttl_ms = first ? ttl_ms : std::min(reading.list.ttl_ms, ttl_ms);
  if (json::find_string(result, "cacheScope") == "private") reading.list.is_private = true;
  if (!reading.modern) return;
  const TimePoint until = Clock::now() + Milliseconds(std::min(ttl_ms, kFreshAtMostMs));
  reading.list.fresh_until = std::min(reading.list.fresh_until, until);
}

// Takes over one page; answers the raw cursor token of the next, or empty at the end. Only an
// absent nextCursor ends a list: "" is a cursor like any other (case C30).
Result<std::string> take_page(Reading& reading, json::Raw result) {
  const auto member = json::find(result, reading.info.member);
  if (!member || !json::is_array(*member)) {
    return Error("upstream.bad_frame",
                 fmt::format("the result of {} has no array '{}'",
                             mcp::info(reading.info.method).name, reading.info.member),
                 "report this to the server's author");
  }
  if (reading.modern && mcp::result_type_of(result) != mcp::ResultType::complete) {
    return Error("upstream.bad_frame",
                 fmt::format("the result of {} has a resultType that no list can have",
                             mcp::info(reading.info.method).name),
                 "report this to the server's author");
  }
  json::Elements elements(*member);
  while (auto element = elements.next())
    take_item(reading, *element);
  take_caching(reading, result);
  reading.bytes += result.size();

  const auto next = json::find(result, "nextCursor");
  if (!next || !json::is_string(*next)) return std::string();
  std::string cursor(*next);
  const bool fresh = reading.cursors.insert(cursor).second;
  const bool too_much = reading.cursors.size() > kPagesAtMost || reading.bytes > kBytesAtMost ||
                        Clock::now() > reading.until;
  if (!fresh || too_much) {  // case C31
    const std::string why =
        fresh ? fmt::format("the list does not end: {} pages with {} bytes so far",
                            reading.cursors.size(), reading.bytes)
              : "the server repeats a cursor";
    remark(reading, fmt::format("{}: {}; reading stopped there", reading.info.member, why));
    return std::string();
  }
  return cursor;
}

Task<Result<List>> read_list(Link& link, mcp::ListKind kind, Milliseconds timeout) {
  const bool modern = link.facts().era() == mcp::Era::modern;
  const bool rejects_tools =
      modern && kind == mcp::ListKind::tools && link.transport() == Transport::http;
  Reading reading{mcp::info(kind), modern, rejects_tools, {}, {}, {}};
  reading.until = Clock::now() + timeout * kTimeAtMost;
  const std::string_view method = mcp::info(reading.info.method).name;
  std::string cursor;
  do {
    std::string params = page_params(link, cursor);
    const TimePoint deadline = Clock::now() + timeout;
    Result<rpc::Message> reply =
        co_await link.request(method, std::move(params), deadline, OnGiveUp::cancel);
    if (!reply) co_return reply.error();
    if (reply->kind == rpc::Kind::error) {
      const auto code = json::find(reply->error, "code");
      if (code && json::as_integer(*code) == rpc::kMethodNotFound) {
        remark(reading, fmt::format("{} is declared but not implemented", method));
        break;
      }
      const auto message = json::find_string(reply->error, "message");
      co_return Error("upstream.list_failed",
                      fmt::format("{} was answered with an error: {}", method,
                                  excerpt(message.value_or("without a message"))),
                      "see the server's own log");
    }
    Result<std::string> next = take_page(reading, reply->result);
    if (!next) co_return next.error();
    cursor = std::move(*next);
  } while (!cursor.empty());
  co_return std::move(reading.list);
}

}  // namespace

std::optional<mcp::ListKind> announced_list(std::string_view method) {
  const auto known = mcp::parse_method(method);
  if (known == mcp::Method::notify_tools_list_changed) return mcp::ListKind::tools;
  if (known == mcp::Method::notify_prompts_list_changed) return mcp::ListKind::prompts;
  if (known == mcp::Method::notify_resources_list_changed) return mcp::ListKind::resources;
  return std::nullopt;
}

Task<Result<std::shared_ptr<const Catalogue>>> read_catalogue(
    Link& link, const std::vector<mcp::ListKind>& kinds, std::shared_ptr<const Catalogue> before,
    Milliseconds timeout) {
  auto catalogue = std::make_shared<Catalogue>();
  if (before) *catalogue = *before;
  catalogue->facts = link.facts();
  for (const mcp::ListKind kind : kinds) {
    List& list = catalogue->lists[static_cast<std::size_t>(kind)];
    if (!mcp::offers(catalogue->facts.capabilities, kind)) {
      list = List();
      continue;
    }
    Result<List> read = co_await read_list(link, kind, timeout);
    // An extension that does not work takes nothing else with it.
    if (!read && link.alive() && kind == mcp::ListKind::skills) {
      list.remarks = {fmt::format("skills: {}", read.error().message)};
      continue;
    }
    if (!read) co_return read.error();
    list = std::move(*read);
  }
  catalogue->remarks.clear();
  for (const List& list : catalogue->lists) {
    catalogue->remarks.insert(catalogue->remarks.end(), list.remarks.begin(), list.remarks.end());
  }
  catalogue->note_traits();
  std::shared_ptr<const Catalogue> done = std::move(catalogue);
  co_return done;
}

}  // namespace mcpx::upstream
