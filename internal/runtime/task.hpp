// Task<T>: the coroutine type of mcpx, an Asio awaitable on a concrete executor.
//
// Rules for writing one (style.md C1-C6, enforced by test/lint/coroutine_shapes.py): one co_await
// per statement, never in a condition, never beside a braced initialiser, a `?:` or a capturing
// lambda: g++ 12 miscompiles those silently. A Task never throws across a room: it answers a
// Result. Thread: the home shard of the object it belongs to.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace mcpx {

using Executor = boost::asio::io_context::executor_type;

template <class T = void>
using Task = boost::asio::awaitable<T, Executor>;

}  // namespace mcpx
