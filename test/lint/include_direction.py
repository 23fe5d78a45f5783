#!/usr/bin/env python3
"""Which room may include which, and which third-party header may appear where. Rules: rooms.py."""
import re
import sys

import common
import rooms

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(name):
    parts = name.split('/')
    return parts[1] if parts[0] == 'internal' and len(parts) > 2 else None


def problem(name, own, quoted, header):
    target = header.split('/')[0] if '/' in header else None
    if quoted and own and target in rooms.ROWS and target != own:
        if own not in rooms.ROWS:
            return f'room {own} has no row in test/lint/rooms.py'
        if (own, target) in rooms.SAME_ROW:
            return None
        if rooms.ROWS[target] >= rooms.ROWS[own]:
            return (f'{own} (row {rooms.ROWS[own]}) includes {target} '
                    f'(row {rooms.ROWS[target]}); allowed are rows above it')
    if quoted:
        return None
    for pattern, places, why in rooms.ONLY_IN:
        exact = pattern.endswith('hpp')
        matches = re.fullmatch(pattern, header) if exact else re.match(pattern, header)
        if matches and own and not any(re.match(place, name) for place in places):
            return why
    return None


def check(name, text):
    own = room_of(name)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            reason = problem(name, own, match.group(1) == '"', match.group(2))
            if reason:
                yield number, reason
        elif own in rooms.PURE and re.search(rooms.CLOCKS, line.split('//')[0]):
            yield number, f'{own} is pure: it reads no clock, `now` is a parameter'


def main():
    findings = [(name, line, reason) for name in common.sources()
                for line, reason in check(name, common.read(name))]
    return common.report(findings, 'include direction')


if __name__ == '__main__':
    sys.exit(main())
