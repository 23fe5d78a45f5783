#!/usr/bin/env python3
"""The coroutine law (docs/architecture.md): shapes that g++ 12 miscompiles without a word.

A statement with co_await must be `co_await x;`, `auto v = co_await x;`, `v = co_await x;` or
`co_return co_await x;`. Findings:
  condition   inside the parentheses of if, while, for, switch (GCC PR 106188)
  ternary     beside ?:
  closure     beside a lambda with captures (its temporary is destroyed twice)
  brace       beside a braced initialiser (likewise)
  many        more than one in a statement
  nested      inside an argument or a larger expression
  default     a coroutine declared with a braced default argument
  lambda      a lambda with captures that is itself a coroutine (its captures die first); unit
              tests may: on_shard() keeps the lambda until the coroutine has ended
  macro       in a macro, where nobody sees the statement
A line with `// coroutine-shapes: allow (why)` is left alone.
Usage: coroutine_shapes.py [FILE...]   (default: every source of the checkout)
"""
import sys

import common
import cxx

ALLOW = 'coroutine-shapes: allow ('
KEYWORDS = ('co_await', 'co_return', 'co_yield')
RETURNS = ('Task', 'awaitable')


def flat(items, skip_bodies=True):
    """All tokens below, in order; bodies of lambdas and blocks are visited on their own."""
    for item in items:
        if not item.is_group():
            yield item
        elif not (skip_bodies and item.bracket == '{' and item.role in ('block', 'lambda')):
            yield from flat(item.items, skip_bodies)


def groups(items):
    for item in items:
        if item.is_group():
            yield item
            if not (item.bracket == '{' and item.role in ('block', 'lambda')):
                yield from groups(item.items)


def awaits(items):
    return [t for t in flat(items) if t.text == 'co_await']


def without_labels(statement):
    """The statement behind `case x:`, `default:` and `else`."""
    changed = True
    while changed and statement:
        changed = False
        if statement[0].text == 'else':
            statement, changed = statement[1:], True
        elif statement[0].text in ('case', 'default'):
            at = next((i for i, t in enumerate(statement) if t.text == ':'), None)
            if at is not None:
                statement, changed = statement[at + 1:], True
    return statement


def check_statement(statement, hit):
    statement = without_labels(statement)
    if statement and statement[0].text in cxx.CONTROL:
        head = next((i for i, t in enumerate(statement) if t.is_group('(')), None)
        if head is not None:
            for token in awaits(statement[:head + 1]):
                hit(token.line, 'condition', f'co_await inside the parentheses of {statement[0].text}')
            check_statement(statement[head + 1:], hit)
            return
    found = awaits(statement)
    if not found:
        return
    line = found[0].line
    if any(t.text == '?' for t in flat(statement)):
        hit(line, 'ternary', 'co_await in a statement with ?:')
    for group in groups(statement):
        if group.bracket == '{' and group.role == 'initialiser':
            hit(line, 'brace', 'co_await in a statement with a braced initialiser')
        if group.bracket == '{' and group.role == 'lambda' and group.captures:
            hit(line, 'closure', 'co_await in a statement with a capturing lambda')
    if len(found) > 1:
        hit(line, 'many', f'{len(found)} co_await in one statement')
    elif not plain(statement):
        hit(line, 'nested', 'co_await inside a larger expression: give the awaited value a name')


def plain(statement):
    at = next((i for i, t in enumerate(statement) if t.text == 'co_await'), None)
    if at is None:
        return False
    if at == 0:
        return True
    before = statement[at - 1].text
    if before == 'co_return':
        return at == 1
    return before == '=' and sum(t.text == '=' for t in statement[:at]) == 1


def check_declarations(group, hit):
    items = group.items
    for i, item in enumerate(items):
        if item.text not in RETURNS or i + 1 >= len(items) or items[i + 1].text != '<':
            continue
        head = next((j for j in range(i + 1, len(items)) if items[j].is_group() or
                     items[j].text in (';', '=')), None)
        if head is None or not items[head].is_group('('):
            continue
        parameters = items[head].items
        for j, token in enumerate(parameters):
            if token.text == '=' and any(
                    g.is_group('{') for g in default_of(parameters, j + 1)):
                hit(token.line, 'default', 'coroutine with a braced default argument')


def default_of(parameters, at):
    for item in parameters[at:]:
        if item.text == ',':
            return
        yield item


def check(source):
    """Findings of one file as (line, kind, reason)."""
    lines = source.splitlines()
    found = set()

    def hit(line, kind, reason):
        if ALLOW not in lines[line - 1]:
            found.add((line, kind, reason))

    tree = cxx.parse(source)
    for body in cxx.bodies(tree):
        for statement in cxx.statements(body):
            check_statement(statement, hit)
        if body.role == 'lambda' and body.captures:
            for token in flat(body.items):
                if token.text in KEYWORDS:
                    hit(token.line, 'lambda', 'a coroutine that is a lambda with captures')
                    break
            else:
                for inner in cxx.walk(body):
                    if inner is body or inner.bracket != '{' or inner.role != 'block':
                        continue
                    token = next((t for t in flat(inner.items) if t.text in KEYWORDS), None)
                    if token:
                        hit(token.line, 'lambda', 'a coroutine that is a lambda with captures')
                        break
    for group in cxx.walk(tree):
        check_declarations(group, hit)
    for line, text in cxx.directives(source):
        if any(word in text for word in KEYWORDS) and 'define' in text:
            hit(line, 'macro', 'a coroutine keyword in a macro')
    return sorted(found)


def main(arguments):
    findings = []
    for name in arguments or common.sources():
        text = common.read(name) if not arguments else open(name, encoding='utf-8').read()
        findings += [(name, line, f'[{kind}] {reason}') for line, kind, reason in check(text)
                     if not (kind == 'lambda' and name.startswith('test/unit/'))]
    return common.report(findings, 'coroutine shapes')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
