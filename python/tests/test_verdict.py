"""What a function may return, and the answer that comes of it."""

import contextlib
import io
import json
import unittest
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import launch
from parthack import NoVerdict, Score
from parthack.verdict import (
    MAX_ANSWER_BYTES,
    MAX_DETAIL_BYTES,
    MAX_REASON_CHARACTERS,
    answer_of,
    failed,
    line_of,
    longest_answer,
    no_verdict,
)


class Scalar:
    """A number as array libraries make them."""

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value


class Several:
    def item(self):
        raise ValueError("only one element can be converted")


class Verdicts(unittest.TestCase):
    def check(self, result, expected):
        self.assertEqual(answer_of(result, launch.sample()), expected)

    def refused(self, result, *words):
        answer = answer_of(result, launch.sample())
        self.assertEqual(list(answer), ["no_verdict"])
        for word in words:
            self.assertIn(word, answer["no_verdict"])

    def test_numbers(self):
        self.check(0.25, {"score": 0.25})
        self.check(0, {"score": 0.0, "exact": "0"})
        self.check(1, {"score": 1.0, "exact": "1"})
        self.check(True, {"score": 1.0, "exact": "1"})
        self.check(False, {"score": 0.0, "exact": "0"})
        self.check(Fraction(1, 3), {"score": 1 / 3, "exact": "1/3"})
        self.check(Fraction(2, 4), {"score": 0.5, "exact": "1/2"})
        self.check(Decimal("0.1"), {"score": 0.1, "exact": "1/10"})
        self.check(Scalar(0.5), {"score": 0.5})
        self.check(Scalar(True), {"score": 1.0, "exact": "1"})

    def test_negative_zero_is_zero(self):
        self.assertEqual(line_of(answer_of(-0.0, {})), b'{"score":0.0}\n')
        self.assertEqual(answer_of(Decimal("-0"), {}), {"score": 0.0, "exact": "0"})

    def test_ratios_that_are_too_fine_are_not_called_exact(self):
        self.check(Fraction(1, 2**32 - 1), {"score": 1 / (2**32 - 1), "exact": "1/4294967295"})
        self.check(Fraction(1, 2**32), {"score": 2.0**-32})
        self.check(Decimal("1e-999999999"), {"score": 0.0})

    def test_out_of_range(self):
        for value in (1.5, -0.1, 2, -1, 10**400, Fraction(3, 2), Decimal("1.01"), 1.0000000000000002, Scalar(7)):
            self.refused(value, "outside [0, 1]")

    def test_not_finite(self):
        for value in (float("nan"), float("inf"), -float("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")):
            self.refused(value, "expected a number in [0, 1]")

    def test_no_number(self):
        self.refused("0.5", "str", "'0.5'")
        self.refused([0.5], "list")
        self.refused({"score": 0.5}, "dict")
        self.refused(0.5j, "complex")
        self.refused(Several(), "only one element")
        self.refused(Scalar("x"), "Scalar")
        self.refused(Score(None), "NoneType")

    def test_no_verdict(self):
        self.check(None, {"no_verdict": "the evaluator returned None"})
        self.check(NoVerdict("nothing to go by"), {"no_verdict": "nothing to go by"})
        self.check(NoVerdict("why", detail=[1]), {"no_verdict": "why", "detail": [1]})

    def test_detail_and_cites(self):
        self.check(
            Score(Fraction(1, 2), detail={"held": [1, 0]}, cites=["/state_diff", "/transcript/0/step"]),
            {"score": 0.5, "exact": "1/2", "detail": {"held": [1, 0]}, "cites": ["/state_diff", "/transcript/0/step"]},
        )
        self.check(Score(0.5, cites=(pointer for pointer in ["/events"])), {"score": 0.5, "cites": ["/events"]})

    def test_cites_that_lead_nowhere(self):
        self.refused(Score(0.5, cites=["/events", "/events/99"]), "cites[1]", "/events/99")
        self.refused(Score(0.5, cites=["events"]), "cites[0]", "begins with /")
        self.refused(Score(0.5, cites=[""]), "cites[0]", "whole payload")
        self.refused(Score(0.5, cites=[3]), "cites[0]", "int")
        self.refused(Score(0.5, cites="/events"), "list of JSON pointers")
        self.refused(Score(0.5, cites=7), "list of JSON pointers")

    def test_lines(self):
        self.assertEqual(line_of({"no_verdict": "a\nb – é"}), '{"no_verdict":"a\\nb – é"}\n'.encode())
        self.assertEqual(line_of({"no_verdict": "\ud800"}), b'{"no_verdict":"?"}\n')
        for detail in (float("nan"), {1, 2}, object(), {"a": {3: float("inf")}}):
            self.assertIn("detail is not JSON", json.loads(line_of({"score": 1, "detail": detail}))["no_verdict"])
        around = []
        around.append(around)
        self.assertIn("detail is not JSON", json.loads(line_of({"score": 1, "detail": around}))["no_verdict"])
        self.assertIn("bytes", json.loads(line_of({"score": 1, "cites": ["/" + "x" * MAX_ANSWER_BYTES]}))["no_verdict"])

    def test_long_details_are_left_out(self):
        longest = "x" * (MAX_DETAIL_BYTES - 2)
        self.assertEqual(json.loads(line_of({"score": 1, "detail": longest})), {"score": 1, "detail": longest})
        with contextlib.redirect_stderr(io.StringIO()):
            for detail in (longest + "x", "é" * (MAX_DETAIL_BYTES // 2), "x" * 300_000):
                self.assertEqual(json.loads(line_of({"score": 1, "detail": detail})), {"score": 1})
                self.assertEqual(json.loads(line_of({"no_verdict": "why", "detail": detail})), {"no_verdict": "why"})

    def test_the_host_says_how_long_an_answer_may_be(self):
        for hello, most in (
            ('{"max_answer_bytes":100}', 100),
            ('{"max_answer_bytes":0}', MAX_ANSWER_BYTES),
            ('{"max_answer_bytes":true}', MAX_ANSWER_BYTES),
            ("[]", MAX_ANSWER_BYTES),
            ("{", MAX_ANSWER_BYTES),
            ("", MAX_ANSWER_BYTES),
        ):
            with mock.patch.dict("os.environ", {"PARTHACK_HELLO": hello}):
                self.assertEqual(longest_answer(), most, hello)
        with mock.patch.dict("os.environ", {"PARTHACK_HELLO": '{"max_answer_bytes":100}'}):
            self.assertEqual(json.loads(line_of({"score": 1, "detail": "x" * 60}))["score"], 1)
            self.assertIn("more than 100", json.loads(line_of({"score": 1, "detail": "x" * 90}))["no_verdict"])

    def test_errors(self):
        self.assertEqual(failed(TypeError("no")), {"no_verdict": "TypeError: no"})
        self.assertEqual(failed(KeyError("goal")), {"no_verdict": "KeyError: 'goal'"})
        self.assertEqual(failed(ValueError()), {"no_verdict": "ValueError"})
        self.assertEqual(len(no_verdict("x" * 10**6)["no_verdict"]), MAX_REASON_CHARACTERS + 1)

        class Mute(Exception):
            def __str__(self):
                raise RuntimeError

        self.assertEqual(failed(Mute()), {"no_verdict": "Mute: (its message could not be made)"})


if __name__ == "__main__":
    unittest.main()
