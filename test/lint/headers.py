#!/usr/bin/env python3
"""Every header of a room opens with a // paragraph that says what it is and names its Thread:."""
import re
import sys

import common


def check(text):
    lines = text.splitlines()
    if not lines or not lines[0].startswith('//'):
        yield 1, 'a header opens with a // comment: purpose, ownership, Thread:'
        return
    opening = []
    for line in lines:
        if not line.startswith('//'):
            break
        opening.append(line)
    if not any('Thread:' in line for line in opening):
        yield 1, 'the opening comment does not say "Thread:"'
    if not re.search(r'^#pragma once$', text, re.M):
        yield 1, '#pragma once is missing'


def main():
    findings = [(name, line, reason) for name in common.sources()
                if name.startswith('internal/') and name.endswith('.hpp')
                for line, reason in check(common.read(name))]
    return common.report(findings, 'header comments')


if __name__ == '__main__':
    sys.exit(main())
