#include "json/splice.hpp"

#include <algorithm>
#include <utility>

#include "json/scan.hpp"

namespace mcpx::json {
namespace {

// Copies an object from left to right, leaving out and replacing parts of it.
class Copier {
 public:
  Copier(std::string& out, Raw object)
      : out_(out), copied_(object.data()), last_end_(copied_ + 1) {}

  void keep(const Member& member) {
    begin(member);
    ++kept_;
    last_end_ = member.value.data() + member.value.size();
  }
  void replace(const Member& member, std::string_view value) {
    begin(member);
    flush(member.value.data());
    out_ += value;
    copied_ = member.value.data() + member.value.size();
    ++kept_;
    last_end_ = copied_;
  }
  // Takes the comma before the member along, or, where nothing stands before it, the one behind.
  void drop(const Member& member) {
    begin(member);
    flush(kept_ > 0 ? last_end_ : member.key.data());
    last_end_ = copied_ = member.value.data() + member.value.size();
    drop_separator_ = kept_ == 0;
  }
  void add(std::string_view key, std::string_view value) {
    flush(last_end_);
    if (kept_++ > 0) out_.push_back(',');
    append_string(out_, key);
    out_.push_back(':');
    out_ += value;
  }
  void finish(const char* end) { flush(end); }

 private:
  void begin(const Member& member) {
    if (drop_separator_) copied_ = member.key.data();
    drop_separator_ = false;
  }
  void flush(const char* to) {
    if (to > copied_) out_.append(copied_, to);
    copied_ = std::max(copied_, to);
  }

  std::string& out_;
  const char* copied_;    // what stands before it is written or left out
  const char* last_end_;  // behind the last member, or behind the brace
  std::size_t kept_ = 0;
  bool drop_separator_ = false;
};

}  // namespace

Splice::Splice(Raw object) : object_(trimmed(object)) {
  if (object_.empty()) object_ = "{}";
}

Splice::Edit* Splice::find_edit(std::string_view key) {
  const auto at =
      std::find_if(edits_.begin(), edits_.end(), [&](const Edit& edit) { return edit.key == key; });
  return at == edits_.end() ? nullptr : &*at;
}

Splice& Splice::set(std::string_view key, std::string raw_value) {
  if (Edit* edit = find_edit(key)) {
    edit->value = std::move(raw_value);
    edit->only_if_absent = false;
  } else {
    edits_.push_back(Edit{std::string(key), std::move(raw_value), false});
  }
  return *this;
}

Splice& Splice::set_default(std::string_view key, std::string raw_value) {
  Edit* edit = find_edit(key);
  if (edit == nullptr) {
    edits_.push_back(Edit{std::string(key), std::move(raw_value), true});
  } else if (!edit->value) {
    edit->value = std::move(raw_value);  // it was going to be absent
  }
  return *this;
}

Splice& Splice::remove(std::string_view key) {
  if (Edit* edit = find_edit(key)) {
    edit->value.reset();
    edit->only_if_absent = false;
  } else {
    edits_.push_back(Edit{std::string(key), std::nullopt, false});
  }
  return *this;
}

void Splice::append_to(std::string& out) const {
  if (!is_object(object_)) {
    out += object_;
    return;
  }
  Copier copier(out, object_);
  std::vector<bool> seen(edits_.size());
  Members members(object_);
  while (const auto member = members.next()) {
    const auto edit = std::find_if(edits_.begin(), edits_.end(),
                                   [&](const Edit& e) { return member->key_is(e.key); });
    if (edit == edits_.end()) {
      copier.keep(*member);
      continue;
    }
    const auto index = static_cast<std::size_t>(edit - edits_.begin());
    const bool first = !seen[index];
    seen[index] = true;
    if (edit->only_if_absent) {
      copier.keep(*member);
    } else if (edit->value && first) {
      copier.replace(*member, *edit->value);
    } else {
      copier.drop(*member);
    }
  }
  for (std::size_t i = 0; i < edits_.size(); ++i) {
    if (!seen[i] && edits_[i].value) copier.add(edits_[i].key, *edits_[i].value);
  }
  copier.finish(object_.data() + object_.size());
}

std::string Splice::text() const {
  std::string out;
  std::size_t size = object_.size();
  for (const Edit& edit : edits_)
    size += edit.key.size() + edit.value.value_or("").size() + 4;
  out.reserve(size);
  append_to(out);
  return out;
}

}  // namespace mcpx::json
