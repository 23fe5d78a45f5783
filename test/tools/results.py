#!/usr/bin/env python3
"""Reads what the test runners wrote: Catch2's XML and node's TAP.

Usage: results.py count FILE...   prints "passed failed skipped" over all files
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def catch2(path):
    """(name, tags, passed) per test case; a file cut short by a crash ends in a failed case."""
    text = Path(path).read_text(encoding='utf-8', errors='replace')
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        names = re.findall(r'<TestCase name="([^"]*)"', text)
        for name in names[:-1]:
            yield name, '', True
        yield (names[-1] if names else Path(path).stem), '', False
        return
    for case in root.iter('TestCase'):
        overall = case.find('OverallResult')
        yield (case.get('name', ''), case.get('tags', ''),
               overall is not None and overall.get('success') == 'true')


def tap(path):
    """(name, tags, passed or None when skipped) per test and subtest. A test with subtests is
    counted beside them, as node does."""
    for line in Path(path).read_text(encoding='utf-8', errors='replace').splitlines():
        match = re.match(r'\s*(not )?ok \d+(?: - (.*))?$', line)
        if not match:
            continue
        name = (match.group(2) or '').replace('\\#', '#')
        directive = re.search(r'\s# (SKIP|TODO)\b.*$', name)
        name = name[:directive.start()] if directive else name
        yield name, ''.join(re.findall(r'\[req:[^\]]*\]', name)), (
            None if directive else match.group(1) is None)


def cases(path):
    return catch2(path) if str(path).endswith('.xml') else tap(path)


def count(paths):
    passed = failed = skipped = 0
    for path in paths:
        for _, _, outcome in cases(path):
            passed += outcome is True
            failed += outcome is False
            skipped += outcome is None
    return passed, failed, skipped


if __name__ == '__main__':
    if len(sys.argv) < 3 or sys.argv[1] != 'count':
        sys.exit(__doc__)
    print(*count(sys.argv[2:]))
