"""JSON pointers: the examples of RFC 6901, and everything that is none."""

import doctest
import unittest

import launch  # noqa: F401  The path to this package.
from parthack import pointers
from parthack.pointers import PointerError

DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


class Pointers(unittest.TestCase):
    def test_the_examples_of_the_standard(self):
        expected = {
            "": DOCUMENT,
            "/foo": ["bar", "baz"],
            "/foo/0": "bar",
            "/": 0,
            "/a~1b": 1,
            "/c%d": 2,
            "/e^f": 3,
            "/g|h": 4,
            "/i\\j": 5,
            '/k"l': 6,
            "/ ": 7,
            "/m~0n": 8,
        }
        for pointer, value in expected.items():
            self.assertEqual(pointers.resolve(DOCUMENT, pointer), value, pointer)
            self.assertEqual(pointers.join(*pointers.parse(pointer)), pointer)

    def test_what_leads_nowhere(self):
        for pointer, word in {
            "foo": "begins with /",
            "/bar": 'no key "bar" at ""',
            "/foo/2": "no index",
            "/foo/00": "no index",
            "/foo/01": "no index",
            "/foo/-": "no index",
            "/foo/-1": "no index",
            "/foo/+1": "no index",
            "/foo/ 1": "no index",
            "/foo/1e0": "no index",
            "/foo/\u0661": "no index",
            "/foo/" + "9" * 5000: "no index",
            "/foo/0/0": "a scalar",
            "/a~b": "~0",
            "/a~2b": "~0",
            "/a~": "~0",
            "#/foo": "begins with /",
        }.items():
            self.assertFalse(pointers.resolves(DOCUMENT, pointer), pointer)
            with self.assertRaises(PointerError) as caught:
                pointers.check(pointer, DOCUMENT)
            self.assertIn(word, str(caught.exception))

    def test_no_text(self):
        for value in (None, 0, b"/foo", ["foo"]):
            with self.assertRaises(PointerError):
                pointers.parse(value)

    def test_examples_in_the_documentation(self):
        self.assertEqual(doctest.testmod(pointers)[0], 0)
        self.assertGreater(doctest.testmod(pointers)[1], 2)


if __name__ == "__main__":
    unittest.main()
