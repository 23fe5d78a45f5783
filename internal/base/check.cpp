#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/result.hpp"

namespace mcpx {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "mcpx: broken invariant at %s:%d: %s\n", file, line, expression);
  std::abort();
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  std::fprintf(stderr, "mcpx: value() of an error at %s:%u: %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), error.message.c_str());
  std::abort();
}

}  // namespace mcpx
