#!/usr/bin/env python3
"""The lints tested on samples: what must be found is found, and nothing else is."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import banned
import common
import coroutine_shapes
import cxx
import format as format_lint
import headers
import include_direction
import rooms
import sizes

SAMPLES = Path(__file__).resolve().parent / 'samples'


class CoroutineShapes(unittest.TestCase):
    def expected(self, text):
        for number, line in enumerate(text.splitlines(), 1):
            match = re.search(r'// BAD ([a-z ]+)$', line)
            if match:
                yield from ((number, kind) for kind in match.group(1).split())

    def test_every_bad_sample_is_found_and_nothing_else(self):
        text = (SAMPLES / 'shapes_bad.cpp').read_text()
        found = {(line, kind) for line, kind, _ in coroutine_shapes.check(text)}
        self.assertEqual(found, set(self.expected(text)))

    def test_no_good_sample_is_found(self):
        text = (SAMPLES / 'shapes_good.cpp').read_text()
        self.assertEqual(coroutine_shapes.check(text), [])

    def test_each_kind_has_a_sample(self):
        text = (SAMPLES / 'shapes_bad.cpp').read_text()
        kinds = {kind for _, kind in self.expected(text)}
        self.assertEqual(kinds, {'condition', 'ternary', 'closure', 'brace', 'many', 'nested',
                                 'default', 'lambda', 'macro'})

    def test_lines_are_counted_through_strings_comments_and_splices(self):
        text = ('/* a\nb */ const char* s = R"(\n\n)";\n#define X \\\n  1\n'
                'Task<void> f() {\n  co_await g({1});\n}\n')
        self.assertEqual([(line, kind) for line, kind, _ in coroutine_shapes.check(text)],
                         [(8, 'brace')])


class Braces(unittest.TestCase):
    def roles(self, text):
        return [g.role for g in list(cxx.walk(cxx.parse(text)))[1:] if g.bracket == '{']

    def test_roles(self):
        rows = [
            ('void f() {}', ['block']), ('void f() const noexcept {}', ['block']),
            ('auto f() -> std::vector<int> {}', ['block']), ('struct X { int a; };', ['block']),
            ('X x{1};', ['initialiser']), ('X x = {1, {2}};', ['initialiser'] * 2),
            ('A::A() : a_{1}, b_(2) {}', ['initialiser', 'block']),
            ('A::A() : b_(2), a_{1} {}', ['initialiser', 'block']),
            ('f([a](int b) mutable { return b; });', ['lambda']),
            ('f([a]() -> std::pair<int, int> { return {1, 2}; });', ['lambda', 'initialiser']),
            ('return x[1] + Y{2};', ['initialiser']), ('enum class E : int { a };', ['block']),
            ('namespace a::b { int x{}; }', ['block', 'initialiser']),
            ('if (a) { b; } else { c; }', ['block'] * 2),
        ]
        for text, expected in rows:
            with self.subTest(text):
                self.assertEqual(self.roles(text), expected)


class IncludeDirection(unittest.TestCase):
    def reasons(self, name, *lines):
        return [reason for _, reason in include_direction.check(name, '\n'.join(lines))]

    def test_rows(self):
        rows = [
            ('internal/net/tcp.cpp', '#include "runtime/shard.hpp"', 0),
            ('internal/net/tcp.cpp', '#include "net/stream.hpp"', 0),
            ('internal/net/tcp.cpp', '#include "process/child.hpp"', 1),
            ('internal/net/tcp.cpp', '#include "downstream/server.hpp"', 1),
            ('internal/rpc/message.cpp', '#include "json/json.hpp"', 0),
            ('internal/json/json.cpp', '#include "rpc/message.hpp"', 1),
            ('internal/unknown/x.cpp', '#include "base/check.hpp"', 1),
            ('cmd/mcpxd/main.cpp', '#include "daemon/app.hpp"', 0),
            ('internal/mcp/x.cpp', '#include <boost/asio/awaitable.hpp>', 1),
            ('internal/net/x.cpp', '#include <boost/asio/ip/tcp.hpp>', 1),
            ('internal/log/log.cpp', '#include <spdlog/spdlog.h>', 0),
            ('internal/log/log.hpp', '#include <spdlog/spdlog.h>', 1),
            ('internal/admin/x.cpp', '#include <yaml-cpp/yaml.h>', 1),
            ('internal/http/server.cpp', '#include <boost/beast/http/parser.hpp>', 1),
            ('internal/mcp/x.cpp', 'auto now = Clock::now();', 1),
            ('internal/mcp/x.cpp', '// not Clock::now()', 0),
        ]
        for name, line, count in rows:
            with self.subTest(f'{name}: {line}'):
                self.assertEqual(len(self.reasons(name, line)), count)

    def test_exceptions_are_real_rooms(self):
        for pair in rooms.SAME_ROW:
            for room in pair:
                self.assertIn(room, rooms.ROWS)


class Banned(unittest.TestCase):
    def test_code(self):
        rows = [('co_spawn(ex, f(), asio::detached);', 1), ('x(use_awaitable);', 1),
                ('using T = use_awaitable_t<Executor>;', 0), ('log("asio::detached");', 0),
                ('// asio::detached', 0), ('std::format("{}", 1);', 1), ('fmt::format("{}", 1);', 0)]
        for line, count in rows:
            with self.subTest(line):
                self.assertEqual(len(list(banned.check_code('internal/x/y.cpp', line))), count)

    def test_words(self):
        rows = [('/wo' + 'rk/main', 1), ('https://regis' + 'try.example.org/x', 1),
                ('the registry room', 0), ('/home/$USER/x', 0), ('/ho' + 'me/jane/x', 1)]
        for line, count in rows:
            with self.subTest(line):
                self.assertEqual(len(list(banned.check_text(line))), count)


class Sizes(unittest.TestCase):
    def stops(self, text):
        return [(line, stop) for line, stop, _ in sizes.check(text)]

    def test_functions(self):
        long = 'void f() {\n' + '  g();\n' * 85 + '}\n'
        self.assertEqual(self.stops(long), [(1, True)])
        self.assertEqual(self.stops('void f() {\n' + '  g();\n' * 50 + '}\n'), [(1, False)])
        self.assertEqual(self.stops('namespace x {\n' + 'int a();\n' * 90 + '}\n'), [])
        self.assertEqual(self.stops('struct X {\n' + '  int a;\n' * 90 + '};\n'), [])
        self.assertEqual(self.stops('auto f = [x] {\n' + '  g();\n' * 90 + '};\n'), [(1, True)])

    def test_files(self):
        self.assertEqual(self.stops('int a();\n' * 450), [(1, False)])
        self.assertEqual(self.stops('int a();\n' * 501), [(1, True)])


class Headers(unittest.TestCase):
    def test_opening(self):
        good = '// X: what. Thread: any.\n#pragma once\n'
        self.assertEqual(list(headers.check(good)), [])
        for bad in ('#pragma once\n// Thread: any.\n', '// X: what.\n#pragma once\n',
                    '// Thread: any.\n', ''):
            with self.subTest(bad):
                self.assertTrue(list(headers.check(bad)))


class Format(unittest.TestCase):
    def test_bad_format_is_found(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / '.clang-format').write_text((common.ROOT / '.clang-format').read_text())
            (Path(folder) / 'bad.cpp').write_text('int  main( ){return 0 ;}\n')
            (Path(folder) / 'good.cpp').write_text('int x = 1;\n')
            self.assertTrue(format_lint.check(['bad.cpp'], folder))
            self.assertEqual(format_lint.check(['good.cpp'], folder), [])


if __name__ == '__main__':
    unittest.main()
