"""Every program in the README and in the modules' documentation runs and scores the sample."""

import re
import textwrap
import unittest

import launch
import parthack
import parthack.schema


class Programs(unittest.TestCase):
    def check(self, source, expected):
        done = launch.run(source, [launch.sample()])
        self.assertEqual((done.answers[0]["score"], done.code), (expected, 0), done.err)

    def test_readme(self):
        text = (launch.PACKAGE_FOLDER / "README.md").read_text("utf-8")
        programs = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(programs), 3)
        for source, expected in zip(programs, (3 / 7, 0.4, 1.0)):
            self.check(source, expected)

    def test_documentation(self):
        for module, expected in ((parthack, 3 / 7), (parthack.schema, 0.4)):
            lines = module.__doc__.split("\n")
            block = [line for line in lines if line.startswith("    ") or not line]
            self.check(textwrap.dedent("\n".join(block)), expected)


if __name__ == "__main__":
    unittest.main()
