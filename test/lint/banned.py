#!/usr/bin/env python3
"""Code that is not written here, and words that do not belong in the tree."""
import re
import sys

import common

# (pattern, reason, where it is looked for, where it is allowed)
CODE = [
    (r'\basio::detached\b|\bdetached_t\b', 'asio::detached swallows exceptions: use a TaskGroup', ()),
    (r'\buse_awaitable\b(?!_t\s*<)', 'use_awaitable throws and costs a frame: await `deferred`', ()),
    (r'\bexperimental::(?:basic_)?channel\b|experimental/channel',
     'experimental::channel loses items after a cancelled receive in Boost 1.81: use Mailbox', ()),
    (r'\bawaitable_operators\b', '`||` waits for the timer when the read fails: use Watchdog', ()),
    (r'\bhttp::async_(?:read|write)', 'Beast is used sans-io: feed the parser', ()),
    (r'\bsystem\s*\(|\bpopen\s*\(', 'children are started by process/', ()),
    (r'\bstd::(?:format|expected|source_location)\b', 'not in the C++20 both compilers take', ()),
    (r'\bfork\s*\(\s*\)', 'children are started by posix_spawn', ('cmd/mcpx-supervise/', 'test/')),
    (r'this_thread::sleep_', 'nothing sleeps to synchronise: wait for the event', ()),
]
# Written in pieces, so that this file does not contain what it looks for.
TEXT = [
    ('/wo' + r'rk/', 'a path of one machine'),
    ('/tmp/' + 'brief', 'a path of one machine'),
    ('/ro' + r'ot/\w', 'a path of one machine'),
    ('/ho' + r'me/(?!USER|user|you|\$|%|<|me/)\w+/', 'a path of one machine'),
    ('regis' + r'try\.\w+\.(?:org|com|io)', 'a package registry by name'),
    ('deb\\.deb' + 'ian|pypi\\.o' + 'rg|proxy\\.gol' + 'ang', 'a package registry by name'),
    ('<<<<<' + '<< |>>>>>' + '>> ', 'a merge conflict'),
]
BINARY = {'.png', '.jpg', '.gif', '.ico', '.gz', '.zip', '.bin', '.der', '.p12', '.woff2'}


def without_strings(line):
    line = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
    return line.split('//')[0]


def check_code(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        code = line if line.lstrip().startswith('#') else without_strings(line)
        for pattern, reason, allowed in CODE:
            if re.search(pattern, code) and not any(name.startswith(a) for a in allowed):
                yield number, reason


def check_text(text):
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, reason in TEXT:
            match = re.search(pattern, line)
            if match:
                yield number, f'{reason}: {match.group(0)}'


def main():
    findings = []
    for name in common.sources():
        findings += [(name, n, r) for n, r in check_code(name, common.read(name))]
    for name in common.tracked():
        if not any(name.endswith(suffix) for suffix in BINARY):
            findings += [(name, n, r) for n, r in check_text(common.read(name))]
    return common.report(findings, 'banned code and words')


if __name__ == '__main__':
    sys.exit(main())
