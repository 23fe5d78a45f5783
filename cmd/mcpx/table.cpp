#include "table.hpp"

#include <algorithm>

namespace mcpx::cli {
namespace {

struct Character {
  char32_t point = 0;
  std::size_t size = 1;
};

// The UTF-8 character at the start of `text`; a broken byte counts as one character.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t size = lead < 0xc2   ? 1
                           : lead < 0xe0 ? 2
                           : lead < 0xf0 ? 3
                           : lead < 0xf5 ? 4
                                         : 1;
  if (size == 1 || text.size() < size) return {lead < 0x80 ? lead : U'\ufffd', 1};
  char32_t point = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {U'\ufffd', 1};
    point = (point << 6) | (byte(i) & 0x3fu);
  }
  return {point, size};
}

// East Asian wide and emoji blocks; combining marks take no column. Enough to keep columns
// straight.
std::size_t width_of(char32_t c) {
  if ((c >= 0x300 && c <= 0x36f) || c == 0x200b || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f)) {
    return 0;
  }
  const bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                    (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                    (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                    (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
  return wide ? 2 : 1;
}

bool is_control(char32_t c) {
  // Bidirectional overrides would let a server's text rewrite what stands around it.
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::green:
      return "\x1b[32m";
    case Colour::yellow:
      return "\x1b[33m";
    case Colour::red:
      return "\x1b[31m";
    case Colour::dim:
      return "\x1b[2m";
    case Colour::bold:
      return "\x1b[1m";
    case Colour::none:
      break;
  }
  return {};
}

}  // namespace

std::string printable(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (lines && (c.point == '\n' || c.point == '\t')) {
      out += static_cast<char>(c.point);
    } else if (c.point == '\n' || c.point == '\r' || c.point == '\t') {
      if (!lines) out += ' ';
    } else if (is_control(c.point)) {
      out += '?';
    } else if (c.point == U'\ufffd' && c.size == 1) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, c.size);
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t out = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    out += width_of(c.point);
    text.remove_prefix(c.size);
  }
  return out;
}

std::string fitted(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (used + width_of(c.point) + 1 > width) break;
    used += width_of(c.point);
    out += text.substr(0, c.size);
    text.remove_prefix(c.size);
  }
  return width == 0 ? std::string() : out + "\u2026";
}

std::string coloured(std::string_view text, Colour colour, const Style& style) {
  if (!style.colours || colour == Colour::none || text.empty()) return std::string(text);
  return std::string(code_of(colour)) + std::string(text) + "\x1b[0m";
}

std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<Cell>>& rows, const Style& style) {
  constexpr std::size_t kGap = 2, kNarrowest = 10;
  std::vector<std::size_t> widths(header.size(), 0);
  for (std::size_t i = 0; i < header.size(); ++i) {
    widths[i] = columns(header[i]);
    for (const auto& row : rows) {
      if (i < row.size()) widths[i] = std::max(widths[i], columns(printable(row[i].text)));
    }
  }
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    before_last += widths[i] + kGap;
  if (style.width > 0 && !widths.empty()) {
    const std::size_t left = style.width > before_last ? style.width - before_last : 0;
    widths.back() = std::min(widths.back(), std::max(left, kNarrowest));
  }

  std::string out;
  const auto add = [&](std::size_t i, const std::string& text, Colour colour) {
    const std::string shown = fitted(printable(text), widths[i]);
    out += coloured(shown, colour, style);
    if (i + 1 < widths.size()) out += std::string(widths[i] - columns(shown) + kGap, ' ');
  };
  const auto end_line = [&out] {
    while (!out.empty() && out.back() == ' ')
      out.pop_back();
    out += '\n';
  };
  for (std::size_t i = 0; i < header.size(); ++i)
    add(i, header[i], Colour::bold);
  end_line();
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      add(i, i < row.size() ? row[i].text : std::string(),
          i < row.size() ? row[i].colour : Colour::none);
    }
    end_line();
  }
  return out;
}

}  // namespace mcpx::cli
