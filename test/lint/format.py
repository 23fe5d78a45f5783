#!/usr/bin/env python3
"""clang-format over every source, as .clang-format says. Usage: format.py [FILE...]"""
import re
import shutil
import subprocess
import sys

import common


def check(names, root=common.ROOT):
    findings = []
    for at in range(0, len(names), 40):
        answer = subprocess.run(['clang-format', '--dry-run', '-Werror', *names[at:at + 40]],
                                cwd=root, capture_output=True, text=True)
        for line in answer.stderr.splitlines():
            match = re.match(r'(.+?):(\d+):\d+: error: (.*)', line)
            if match:
                findings.append((match.group(1), int(match.group(2)), match.group(3)))
    return findings


def main(arguments):
    if not shutil.which('clang-format'):
        print('format: clang-format is not installed', file=sys.stderr)
        return 2
    return common.report(check(arguments or common.sources()), 'format')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
