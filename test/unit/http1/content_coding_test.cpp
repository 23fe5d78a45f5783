// Content codings: what the field says, and gzip and deflate however they are cut.
#include "http1/content_coding.hpp"

#include <zlib.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "unit/http1/deflated.hpp"
#include "unit/http1/feeding.hpp"

namespace mcpx::http1 {
namespace {

using test::deflated;
using test::Form;

struct FieldCase {
  std::vector<const char*> values;
  ContentCoding coding;
  const char* text;
};

TEST_CASE("the content coding is what all its fields say together") {
  const FieldCase cases[] = {
      {{}, ContentCoding::identity, ""},
      {{""}, ContentCoding::identity, ""},
      {{"identity"}, ContentCoding::identity, "identity"},
      {{"gzip"}, ContentCoding::gzip, "gzip"},
      {{"GZip"}, ContentCoding::gzip, "GZip"},
      {{"x-gzip"}, ContentCoding::gzip, "x-gzip"},
      {{"deflate"}, ContentCoding::deflate, "deflate"},
      {{"identity, gzip ,"}, ContentCoding::gzip, "identity, gzip ,"},
      {{"identity", "gzip"}, ContentCoding::gzip, "identity, gzip"},
      {{"br"}, ContentCoding::unknown, "br"},
      {{"zstd"}, ContentCoding::unknown, "zstd"},
      {{"gzip, gzip"}, ContentCoding::unknown, "gzip, gzip"},
      {{"gzip", "br"}, ContentCoding::unknown, "gzip, br"},
      {{"gzip\tx"}, ContentCoding::unknown, "gzip?x"},
  };
  for (const FieldCase& c : cases) {
    Fields fields;
    fields.add("Content-Length", "3");
    for (const char* value : c.values)
      fields.add("content-encoding", value);
    CAPTURE(c.text);
    CHECK(content_coding(fields) == c.coding);
    CHECK(content_coding_text(fields) == c.text);
  }
  Fields long_one;
  long_one.add("Content-Encoding", std::string(1'000, 'x'));
  CHECK(content_coding(long_one) == ContentCoding::unknown);
  CHECK(content_coding_text(long_one) == std::string(64, 'x'));
}

struct Outcome {
  std::string text;
  bool complete = false, failed = false;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome inflate_pieces(ContentCoding coding, const std::vector<std::string_view>& pieces,
                       std::size_t room) {
  Inflater inflater(coding);
  Outcome out;
  std::string into(room, '\0');
  for (const std::string_view piece : pieces) {
    inflater.feed(piece);
    while (const std::size_t bytes = inflater.take(into)) {
      REQUIRE(bytes <= room);
      out.text.append(into, 0, bytes);
    }
  }
  out.complete = inflater.complete();
  out.failed = inflater.failed();
  return out;
}

struct InflateCase {
  const char* name;
  ContentCoding coding;
  std::string bytes;
  std::string text;
  bool complete, failed;
};

std::string plain_text() {
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += std::to_string(i * i);
  return text;
}

TEST_CASE("gzip and deflate are decoded however they are cut and taken") {
  const std::string text = plain_text();
  const std::string gzip = deflated(text, Form::gzip);
  const std::string zlib = deflated(text, Form::zlib);
  const std::string raw = deflated(text, Form::raw);
  std::string wrong_sum = gzip;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  std::string wrong_sum_zlib = zlib;
  wrong_sum_zlib.back() ^= 1;
  const auto g = ContentCoding::gzip;
  const auto d = ContentCoding::deflate;
  const InflateCase cases[] = {
      {"nothing", g, "", "", true, false},
      {"nothing, deflate", d, "", "", true, false},
      {"gzip", g, gzip, text, true, false},
      {"gzip of nothing", g, deflated("", Form::gzip), "", true, false},
      {"two gzip streams", g, gzip + deflated("more", Form::gzip), text + "more", true, false},
      {"deflate with its head", d, zlib, text, true, false},
      {"deflate without", d, raw, text, true, false},
      {"deflate without, of little", d, deflated("x", Form::raw), "x", true, false},
      {"gzip cut short", g, gzip.substr(0, gzip.size() - 1), text, false, false},
      {"gzip's head alone", g, gzip.substr(0, 5), "", false, false},
      {"one byte of deflate", d, zlib.substr(0, 1), "", false, false},
      {"no gzip", g, "hello there", "", false, true},
      {"no deflate", d, std::string("\x07\xff\xff", 3), "", false, true},
      {"gzip with a wrong sum", g, wrong_sum, text, false, true},
      {"deflate with a wrong sum", d, wrong_sum_zlib, text, false, true},
      {"something behind gzip", g, gzip + "xx", text, false, true},
      {"a byte behind gzip", g, gzip + "x", text, false, false},
      {"something behind deflate", d, zlib + "x", text, false, true},
      {"zlib where gzip was said", g, zlib, "", false, true},
  };
  for (const InflateCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      Outcome expected;
      expected.text = c.text;
      expected.complete = c.complete;
      expected.failed = c.failed;
      for (const auto& pieces : test::splits(c.bytes)) {
        for (const std::size_t room : {std::size_t(1), std::size_t(7), std::size_t(100'000)}) {
          const Outcome outcome = inflate_pieces(c.coding, pieces, room);
          REQUIRE((outcome == expected));
        }
      }
    }
  }
}

TEST_CASE("a small input that stands for much gives no more than was asked for") {
  const std::string bomb = deflated(std::string(10'000'000, 'x'), Form::gzip);
  REQUIRE(bomb.size() < 20'000);
  Inflater inflater(ContentCoding::gzip);
  inflater.feed(bomb);
  std::array<char, 1000> into;
  for (int i = 0; i < 10; ++i)
    REQUIRE(inflater.take(into) == into.size());
  REQUIRE_FALSE(inflater.complete());
}

TEST_CASE("what a server has flushed is there at once") {
  const std::vector<std::string> parts = {"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"};
  for (const Form form : {Form::gzip, Form::zlib, Form::raw}) {
    Inflater inflater(form == Form::gzip ? ContentCoding::gzip : ContentCoding::deflate);
    std::array<char, 1000> into;
    const std::vector<std::string> packed = test::deflated_parts(parts, form);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      inflater.feed(packed[i]);
      const std::size_t bytes = inflater.take(into);
      CHECK(std::string(into.data(), bytes) == parts[i]);
    }
    CHECK(inflater.complete());
  }
}

}  // namespace
}  // namespace mcpx::http1
