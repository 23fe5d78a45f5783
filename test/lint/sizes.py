#!/usr/bin/env python3
"""Files over 500 lines and functions over 80 (200 in tests) fail; over 400 and 40 they are
mentioned (-v)."""
import sys

import common
import cxx

FILE_STOP, FILE_AIM = 500, 400
FUNCTION_STOP, FUNCTION_AIM = 80, 40
TEST_STOP = 200  # a test case may hold a table


def mark(group):
    """Marks bodies that stand behind a function head, and lambda bodies."""
    for i, item in enumerate(group.items):
        if not item.is_group():
            continue
        if item.bracket == '{' and item.role == 'block':
            head = group.items[cxx.statement_start(group.items[:i]):i]
            texts = [t.text for t in head]
            control = any(t in cxx.CONTROL or t in ('else', 'do', 'try', 'namespace', 'case')
                          for t in texts)
            item.function = bool(head) and not control and any(t.is_group('(') for t in head)
        elif item.bracket == '{' and item.role == 'lambda':
            item.function = True
        mark(item)


def check(text, is_test=False):
    lines = text.count('\n')
    if lines > FILE_AIM:
        yield (1, lines > FILE_STOP, f'{lines} lines; files stay under {FILE_AIM}, '
                                     f'{FILE_STOP} is the limit')
    stop_at = TEST_STOP if is_test else FUNCTION_STOP
    tree = cxx.parse(text)
    mark(tree)
    for group in cxx.walk(tree):
        length = group.end - group.line + 1
        if getattr(group, 'function', False) and length > FUNCTION_AIM:
            yield (group.line, length > stop_at,
                   f'a function of {length} lines; they stay under {FUNCTION_AIM}, '
                   f'{stop_at} is the limit')


def main(arguments):
    findings = []
    for name in common.sources():
        for line, stop, reason in check(common.read(name), name.startswith('test/')):
            if stop:
                findings.append((name, line, reason))
            elif '-v' in arguments:
                print(f'{name}:{line}: (note) {reason}')
    return common.report(findings, 'sizes')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
