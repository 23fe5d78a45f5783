// Tables and safe text for a terminal. Pure. Thread: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mcpx::cli {

enum class Colour { none, green, yellow, red, dim, bold };

struct Cell {
  std::string text;
  Colour colour = Colour::none;
  Cell(std::string text_, Colour colour_ = Colour::none)
      : text(std::move(text_)), colour(colour_) {}
  Cell(const char* text_) : text(text_) {}
};

struct Style {
  bool colours = false;
  std::size_t width = 0;  // columns of the terminal; 0: no limit
};

// Characters that reach a terminal as they are: control characters (escape sequences of a server's
// descriptions among them) become '?'; line ends and tabs become a space unless `lines` are kept.
std::string printable(std::string_view text, bool lines = false);
// Columns that UTF-8 text takes, a wide character counted as two.
std::size_t columns(std::string_view text);
// The text cut to that many columns, with "…" at the end if it was cut.
std::string fitted(std::string_view text, std::size_t width);
std::string coloured(std::string_view text, Colour colour, const Style& style);

// Left-aligned columns two spaces apart; the last column takes what is left of the width.
std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<Cell>>& rows, const Style& style);

}  // namespace mcpx::cli
