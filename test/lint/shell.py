#!/usr/bin/env python3
"""shellcheck over every shell script; skipped (exit 77) where it is not installed."""
import re
import shutil
import subprocess
import sys

import common


def scripts():
    for name in common.tracked():
        if name.endswith('.sh') or re.match(r'#!.*\b(?:ba|da)?sh\b', first_line(name)):
            yield name


def first_line(name):
    try:
        with open(common.ROOT / name, encoding='utf-8') as file:
            return file.readline()
    except (UnicodeDecodeError, OSError):
        return ''


def main():
    if not shutil.which('shellcheck'):
        print('shell: shellcheck is not installed', file=sys.stderr)
        return 77
    names = list(scripts())
    answer = subprocess.run(['shellcheck', '-x', '-S', 'warning', '-f', 'gcc', *names], cwd=common.ROOT,
                            capture_output=True, text=True)
    findings = []
    for line in answer.stdout.splitlines():
        match = re.match(r'(.+?):(\d+):\d+: (.*)', line)
        if match:
            findings.append((match.group(1), int(match.group(2)), match.group(3)))
    return common.report(findings, 'shell scripts')


if __name__ == '__main__':
    sys.exit(main())
