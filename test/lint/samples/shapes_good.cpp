// Nothing in here may be found. Strings and comments mention co_await ? {1} without meaning it.
namespace mcpx::sample {
struct Point { int x = 0, y = 0; };
enum class Kind : std::uint8_t { one, two };

Session::Session(Shard& shard) : shard_(shard), items_{1, 2, 3}, name_{"co_await"} {}
Session::Session(int n) noexcept : n_{n} { start(); }

Task<void> statements(Shard& shard, Options options) {
  co_await step(shard);
  auto value = co_await read(shard);
  const auto other = co_await read(shard, std::move(options));
  Result<std::string> named = co_await read(shard);
  auto [error, size] = co_await socket.async_read_some(buffer, as_tuple(deferred));
  value = co_await read(shard);
  this->value_ = co_await read(shard);
  slots[3] = co_await read(shard);
  const Pair pair{1, 2};
  co_await send(pair);
  co_await spawn([] { idle(); });
  co_await spawn([](int k) -> int { return k; });
  if (value) co_await step(shard);
  else co_await other_step(shard);
  for (const auto& item : items) co_await send(item);
  while (true) {
    co_await step(shard);
    const Point p{1, 2};
    if (p.x > 1 ? true : false) break;
  }
  for (auto i = std::vector<int>{1, 2}.begin(); i != end; ++i) {
    co_await step(shard);
  }
  switch (kind) {
    case Kind::one: co_await step(shard); break;
    default: co_await step(shard);
  }
  try {
    co_await step(shard);
  } catch (const std::exception& e) {
    log::error("co_await failed ? {}", e.what());
  }
  run([&] { shard.post([x = Point{1, 2}] { use(x); }); });
  co_await step(shard);  // ? : {1, 2}
  auto later = [] { return Point{1, 2}; };
  std::array<int, 2> both = {1, 2};
  struct Local { int x = 0; };
  co_await send(a < b, c > d);
  auto number = 1'000'000;
  co_await send(number, 'a', '\'', R"x(co_await {1} ? )" )x");
  co_return co_await last(shard);
}

Task<int> Room::member(int limit = 3, std::string name = std::string("x")) const {
  co_return limit;
}
Task<void> declared(Options options);
void not_a_coroutine(Options options = {});
Task<void> awaited = {};
template <class T>
  requires std::integral<T>
Task<T> constrained(T value) {
  co_return value;
}
auto trailing(Shard& shard) -> Task<void> {
  co_await step(shard);
}
int plain() { return indices[0] ? table[{1, 2}] : 0; }
Task<void> excused(Shard& shard) {
  co_await send({1, 2});  // coroutine-shapes: allow (two ints have no destructor)
}
void lambdas() {
  spawn([]() -> Task<void> { co_return; });
  spawn([x]() -> Task<void> { return make(x); });
}
}  // namespace mcpx::sample
