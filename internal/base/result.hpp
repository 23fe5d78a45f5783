// Result<T>: how every fallible function of mcpx answers, and Error: what a user is told.
//
// An Error has a stable code (documented in docs/errors.md), one sentence of cause and one of
// remedy. Errors are values across rooms; exceptions stay where a third-party library throws them.
// Thread: any.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <utility>

namespace mcpx {

struct Error {
  std::string code;     // stable and dotted, "upstream.exited"
  std::string message;  // the cause: lower case, names the thing and the number
  std::string remedy;   // what the reader can do about it; may be empty

  Error() = default;  // what result<T>::error() answers when there is none
  Error(std::string code_, std::string message_, std::string remedy_ = {})
      : code(std::move(code_)), message(std::move(message_)), remedy(std::move(remedy_)) {}

  // "cause; remedy", for places that show one line.
  std::string text() const { return remedy.empty() ? message : message + "; " + remedy; }
};

// Called by Result<T>::value() on an error; reaching it is a bug of ours.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

template <class T = void>
using Result = boost::system::result<T, Error>;

}  // namespace mcpx
