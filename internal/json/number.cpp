#include <algorithm>
#include <cstdint>

#include "json/json.hpp"

namespace mcpx::json {
namespace {

// A number token as digits x 10^exponent, exactly; digits may be long and begin with zeros.
struct Decimal {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
};

constexpr std::int64_t kExponentCap = 1'000'000'000'000;  // far beyond any text we could hold

std::string_view take_digits(std::string_view& rest) {
  const std::size_t length = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view digits = rest.substr(0, length);
  rest.remove_prefix(length);
  return digits;
}

bool take(std::string_view& rest, char c) {
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

std::optional<Decimal> decimal(Raw value) {
  Decimal out;
  out.negative = take(value, '-');
  out.digits = take_digits(value);
  if (out.digits.empty()) return std::nullopt;
  if (take(value, '.')) {
    const std::string_view fraction = take_digits(value);
    out.digits += fraction;
    out.exponent = -static_cast<std::int64_t>(fraction.size());
  }
  if (take(value, 'e') || take(value, 'E')) {
    const bool negative = take(value, '-');
    if (!negative) take(value, '+');
    std::int64_t exponent = 0;
    for (const char c : take_digits(value)) {
      exponent = std::min(exponent * 10 + (c - '0'), kExponentCap);
    }
    out.exponent += negative ? -exponent : exponent;
  }
  if (!value.empty()) return std::nullopt;
  return out;
}

// Moves zeros at the end of the digits into the exponent; zero becomes no digits.
void normalise(Decimal& number) {
  const std::size_t first = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  number.digits.erase(0, first);
  while (!number.digits.empty() && number.digits.back() == '0') {
    number.digits.pop_back();
    ++number.exponent;
  }
}

}  // namespace

bool is_integer(Raw value) {
  // Nearly every id: a few plain digits.
  if (!value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos) {
    return true;
  }
  auto number = decimal(value);
  if (!number) return false;
  normalise(*number);
  return number->digits.empty() || number->exponent >= 0;
}

std::optional<std::int64_t> as_integer(Raw value) {
  auto number = decimal(value);
  if (!number) return std::nullopt;
  normalise(*number);
  if (number->digits.empty()) return 0;
  if (number->exponent < 0 || number->exponent > 19 || number->digits.size() > 19) {
    return std::nullopt;
  }
  number->digits.append(static_cast<std::size_t>(number->exponent), '0');
  std::int64_t out = 0;  // counted downwards, so that the smallest integer fits
  for (const char c : number->digits) {
    if (__builtin_mul_overflow(out, std::int64_t{10}, &out)) return std::nullopt;
    if (__builtin_sub_overflow(out, std::int64_t{c - '0'}, &out)) return std::nullopt;
  }
  if (number->negative) return out;
  if (out == INT64_MIN) return std::nullopt;
  return -out;
}

std::optional<int> compare_numbers(Raw a, Raw b) {
  auto x = decimal(a), y = decimal(b);
  if (!x || !y) return std::nullopt;
  normalise(*x);
  normalise(*y);
  const auto sign = [](const Decimal& number) {
    if (number.digits.empty()) return 0;
    return number.negative ? -1 : 1;
  };
  if (sign(*x) != sign(*y) || x->digits.empty()) return sign(*x) - sign(*y);
  // Without zeros at either end, the place of the first digit decides, then the digits from there.
  const auto place = [](const Decimal& number) {
    return number.exponent + static_cast<std::int64_t>(number.digits.size());
  };
  int larger = x->digits.compare(y->digits);
  if (place(*x) != place(*y)) larger = place(*x) < place(*y) ? -1 : 1;
  return x->negative ? -larger : larger;
}

}  // namespace mcpx::json
