"""What the lints share: the files of the checkout, how a finding is printed, and the exit code."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = {'.cpp', '.hpp'}


def tracked(root=ROOT):
    """Every file git knows or would add, as paths relative to the root."""
    listed = subprocess.run(
        ['git', '-C', str(root), 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
        check=True, capture_output=True).stdout.decode()
    return sorted(name for name in listed.split('\0') if name and (root / name).is_file())


def sources(root=ROOT):
    """C++ sources and headers; the samples of the lints themselves are not the project's code."""
    return [n for n in tracked(root) if Path(n).suffix in SOURCE and not n.startswith('test/lint/')]


def read(name, root=ROOT):
    return (root / name).read_text(encoding='utf-8', errors='replace')


def report(findings, what):
    """Prints "file:line: reason" per finding; the exit code says whether there was one."""
    for file, line, reason in sorted(set(findings)):
        print(f'{file}:{line}: {reason}')
    print(f'{what}: {len(set(findings))} finding(s)', file=sys.stderr)
    return 1 if findings else 0
