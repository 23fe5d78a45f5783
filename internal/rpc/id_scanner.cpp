#include "json/json.hpp"
#include "json/scan.hpp"
#include "rpc/line_framer.hpp"
#include "rpc/message.hpp"

namespace mcpx::rpc {

void IdScanner::feed(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at < end && state_ != State::done) {
    // Nearly all bytes of a long line are inside strings or deep inside the payload.
    if (in_string_ && !escaped_ && !collecting()) {
      at = json::find_quote_or_backslash(at, end);
    } else if (!in_string_ && depth_ > 1) {
      at = json::find_quote_or_bracket(at, end);
    }
    if (at < end) step(*at++);
  }
}

void IdScanner::step(char c) {
  if (in_string_) return string_byte(c);
  if (c == '"') {
    in_string_ = true;
    if (depth_ == 1 && state_ == State::before_key) begin_token(State::key);
    if (depth_ == 1 && state_ == State::before_value) begin_token(State::value);
    keep(c);
    return;
  }
  if (c == '{' || c == '[') {
    if (depth_ == 0) state_ = c == '{' ? State::before_key : State::done;
    if (depth_ == 1) state_ = State::skip;
    ++depth_;
    return;
  }
  if (depth_ > 1) {
    if (c == '}' || c == ']') --depth_;
    return;
  }
  if (depth_ == 1)
    between_members(c);
  else if (!json::is_white(c))
    state_ = State::done;  // the text is no object
}

// A byte at depth 1 outside strings, and no opening bracket.
void IdScanner::between_members(char c) {
  if (c == ':') {
    state_ = state_ == State::key ? State::before_value : State::skip;
    if (state_ == State::before_value) finish_key();
  } else if (c == ',' || c == '}') {
    if (state_ == State::value) finish_value();
    state_ = c == ',' ? State::before_key : State::done;
  } else if (!json::is_white(c)) {
    if (state_ == State::before_value) begin_token(State::value);
    keep(c);
  }
}

void IdScanner::string_byte(char c) {
  keep(c);
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
  }
}

bool IdScanner::collecting() const {
  return depth_ == 1 && !overflow_ &&
         (state_ == State::key || (state_ == State::value && member_ == Member::id));
}

void IdScanner::begin_token(State state) {
  state_ = state;
  token_.clear();
  overflow_ = false;
}

void IdScanner::keep(char c) {
  if (!collecting()) return;
  if (token_.size() == kTokenLimit) {
    overflow_ = true;
  } else {
    token_.push_back(c);
  }
}

void IdScanner::finish_key() {
  const json::Member member{token_, {}};
  member_ = Member::other;
  if (overflow_) return;
  if (member.key_is("id")) member_ = Member::id;
  if (member.key_is("method")) has_method_ = true;
}

void IdScanner::finish_value() {
  if (member_ != Member::id) return;
  // Twice an id is no id: readers could take either.
  const bool usable = !id_seen_ && !overflow_ && is_id(token_);
  id_ = usable ? token_ : std::string();
  id_seen_ = true;
}

}  // namespace mcpx::rpc
