// Every line that must be found ends in  // BAD kind [kind...]  ; nothing else may be.
Task<void> conditions(Shard& shard) {
  if (co_await ready(shard)) stop();                                  // BAD condition
  if (const bool ok = co_await ready(shard); ok) stop();              // BAD condition
  if constexpr (kFast) {
    while (co_await next(shard)) count();                             // BAD condition
  } else if (x && !co_await ready(shard)) {                           // BAD condition
  }
  switch (co_await kind()) {                                          // BAD condition
    case 1: break;
    default: break;
  }
  for (auto item : co_await all()) use(item);                         // BAD condition
  for (int i = 0; i < co_await limit(); ++i) use(i);                  // BAD condition
  do {
    step();
  } while (co_await more());                                          // BAD condition
  if (
      first && co_await second(                                       // BAD condition
                   shard)) {
  }
}

Task<int> expressions(Shard& shard) {
  auto a = x ? co_await one() : 2;                                    // BAD ternary nested
  auto b = co_await (x ? one() : two());                              // BAD ternary
  const int c = co_await pick(x ? 1 : 2);                             // BAD ternary
  co_await send({name, 1});                                           // BAD brace
  co_await send(Pair{name, 1});                                       // BAD brace
  co_await send(std::vector<int>{1, 2});                              // BAD brace
  co_await outer(inner({name, 1}));                                   // BAD brace
  Pair p{name, co_await one()};                                       // BAD brace nested
  auto q = Pair{name, co_await one()};                                // BAD brace nested
  std::vector v{co_await one(), co_await two()};                      // BAD brace many
  co_await spawn([t] { t(); });                                       // BAD closure
  co_await spawn([&](int k) mutable noexcept -> int { return k; });   // BAD closure
  co_await spawn([this, &shard] { go(shard); }, [] { idle(); });      // BAD closure
  auto sum = co_await one() + co_await two();                         // BAD many
  total += co_await one();                                            // BAD nested
  use(co_await one());                                                // BAD nested
  const auto n = (co_await one()).size();                             // BAD nested
  MCPX_CHECK(co_await one());                                         // BAD nested
  static_cast<void>(co_await one());                                  // BAD nested
  auto r = !co_await one();                                           // BAD nested
  if (x) co_await send({1, 2});                                       // BAD brace
  case 4: co_await send({1, 2});                                      // BAD brace
  co_return co_await outer(Pair{1, 2});                               // BAD brace
  co_return Pair(co_await one());                                     // BAD nested
  x = y = co_await one();                                             // BAD nested
  auto text = co_await load(R"(no ? here)", Pair{});                  // BAD brace
}

Task<void> defaults(Options options = {});                            // BAD default
Task<Result<void>> defaults(int a, Options options = Options{1});     // BAD default
boost::asio::awaitable<int> Room::defaults(std::pair<int, int> p = {1, 2}) {  // BAD default
  co_return 1;
}

void lambdas() {
  spawn([x]() -> Task<void> { co_return; });                          // BAD lambda
  spawn([this](Shard& shard) -> Task<void> {
    if (x) {
      co_await step(shard);                                           // BAD lambda
    }
  });
  auto later = [&value] {
    run([&value]() -> Task<void> { co_await value; });                // BAD lambda
  };
}
#define AWAIT(x) co_await (x)                                         // BAD macro
