#include "ask/state.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest.hpp"

namespace mcpx::ask {
namespace {

void append_canonical(std::string& out, json::Raw value);

void append_object(std::string& out, json::Raw object, bool top) {
  std::vector<std::pair<std::string, json::Raw>> members;
  json::Members walk(object);
  while (const auto member = walk.next()) {
    // What belongs to one round, or to one request.
    if (top && (member->key_is("_meta") || member->key_is("inputResponses") ||
                member->key_is("requestState"))) {
      continue;
    }
    members.emplace_back(json::decode_string(member->key).value_or(std::string(member->key)),
                         member->value);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out += '{';
  for (const auto& [key, value] : members) {
    json::append_string(out, key);
    out += ':';
    append_canonical(out, value);
    out += ',';
  }
  out += '}';
}

// As deep as the front door lets a message be.
void append_canonical(std::string& out, json::Raw value) {
  if (json::is_object(value)) return append_object(out, value, false);
  if (json::is_array(value)) {
    out += '[';
    json::Elements elements(value);
    while (const auto element = elements.next()) {
      append_canonical(out, *element);
      out += ',';
    }
    out += ']';
    return;
  }
  const auto text = json::decode_string(value);
  if (text) return json::append_string(out, *text);
  out += value;
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::uint64_t number_of(std::string_view word) {
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;  // what is sealed was written by us
}

}  // namespace

std::string binding_of(std::string_view endpoint, std::string_view principal,
                       std::string_view method, json::Raw params) {
  std::string text;
  json::append_string(text, endpoint);
  json::append_string(text, principal);
  json::append_string(text, method);
  append_object(text, params.empty() ? json::Raw("{}") : params, true);
  return sha256_hex(text);
}

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Error used_error() {
  return Error("ask.state_used", "the requestState was used already, or its call is over",
               "send back the one of the last answer; or call anew without one");
}

// A state with answers in has their length before them. One without is as it was before there were
// any: another process that shares the key may be older.
std::string States::write(const Ticket& ticket, std::string_view binding, std::int64_t now) const {
  const bool answered = !ticket.answers.empty();
  const std::string_view kind = answered ? "answered" : ticket.relayed ? "relayed" : "parked";
  std::string text = fmt::format("{} {} {} {} {} {} {} ", kind, run_, ticket.shard, ticket.call,
                                 ticket.round, ticket.expiry, binding);
  if (answered) text.append(fmt::format("{} {}", ticket.answers.size(), ticket.answers));
  return seal_->close(text.append(ticket.server_state), now);
}

Result<Ticket> States::read(std::string_view state, std::string_view binding,
                            std::int64_t now) const {
  const std::optional<std::string> text = seal_->open(state);
  if (!text) {
    return Error("ask.state_altered",
                 "the requestState was not made by this mcpx, or was changed on the way",
                 "send back the one of the last answer, as it is; or call anew without one");
  }
  std::string_view rest = *text;
  Ticket ticket;
  const std::string_view kind = take_word(rest);
  ticket.relayed = kind != "parked";
  const std::string_view run = take_word(rest);
  ticket.shard = static_cast<std::size_t>(number_of(take_word(rest)));
  ticket.call = number_of(take_word(rest));
  ticket.round = static_cast<std::size_t>(number_of(take_word(rest)));
  ticket.expiry = static_cast<std::int64_t>(number_of(take_word(rest)));
  const std::string_view bound = take_word(rest);
  if (kind == "answered") {
    const std::size_t size = static_cast<std::size_t>(number_of(take_word(rest)));
    ticket.answers = rest.substr(0, size);
    rest.remove_prefix(ticket.answers.size());
  }
  ticket.server_state = rest;
  if (!same(bound, binding)) {
    return Error("ask.state_foreign", "the requestState belongs to another request",
                 "retry with the same method and parameters, at the same endpoint");
  }
  if (now > ticket.expiry) {
    return Error("ask.state_expired", "the requestState is no longer good: ask.state_ttl is over",
                 "call anew without it");
  }
  if (!ticket.relayed && run != run_) {
    return Error("ask.state_expired",
                 "the requestState is no longer good: mcpx, where its call waited, was restarted",
                 "call anew without it");
  }
  return ticket;
}

}  // namespace mcpx::ask
