#!/usr/bin/env python3
"""The readers of results and the matrix, tested on small samples."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import conformance_matrix
import results

XML = '''<?xml version="1.0" encoding="UTF-8"?><Catch name="t"><Group name="t">
<TestCase name="C1: a" tags="[req:one][req:two]"><OverallResult success="true"/></TestCase>
<TestCase name="b" tags="[req:two]"><OverallResult success="false"/></TestCase>
</Group></Catch>'''
TAP = '''TAP version 13
# Subtest: x
    ok 1 - inner
not ok 1 - x [req:three]
ok 2 - y # SKIP no schemas
ok 3 - z [req:three][req:one]
1..3
# tests 4
'''
ROWS = ('id\trevisions\tside\tlevel\tarea\turl\tquote\n'
        'one\t2024-11-05..2026-07-28\tboth\tMUST\tping\tu\tq\n'
        'two\t2026-07-28\tserver\tSHOULD NOT\tping\tu\tq\n'
        'three\t2025-06-18\tclient, auth-server\tMAY\ttools\tu\tq\n')


class Samples(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, text):
        path = Path(self.folder.name) / name
        path.write_text(text)
        return str(path)

    def test_counts(self):
        self.assertEqual(results.count([self.file('a.xml', XML)]), (1, 1, 0))
        self.assertEqual(results.count([self.file('a.tap', TAP)]), (2, 1, 1))

    def test_a_crash_is_a_failure(self):
        cut = XML[:XML.index('<OverallResult success="false"')]
        self.assertEqual(results.count([self.file('a.xml', cut)]), (1, 1, 0))
        self.assertEqual(results.count([self.file('b.xml', '')]), (0, 1, 0))

    def test_matrix(self):
        files = [self.file('a.xml', XML), self.file('a.tap', TAP)]
        requirements = conformance_matrix.read_requirements(self.file('r.tsv', ROWS))
        tags = conformance_matrix.read_tags(files)
        covered = {r.id: conformance_matrix.covering(tags, r) for r in requirements}
        self.assertEqual(covered, {'one': ['C1: a', 'z'], 'two': ['C1: a'], 'three': ['z']})
        text = conformance_matrix.render(requirements, tags)
        self.assertIn('3 of 3 requirements are covered', text)
        self.assertIn('| 2026-07-28 | server | 1/1 | 1/1 | - | - |', text)
        self.assertEqual(requirements[2].sides(), ['client'])


if __name__ == '__main__':
    unittest.main()
