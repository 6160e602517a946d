"""The decorator, and which function is served."""

import functools
import unittest

import launch
from parthack import DeclarationError, Evaluator, NoVerdict, Payload, declaration, evaluator, score_file
from parthack.declaration import the_evaluator


class Declarations(unittest.TestCase):
    def setUp(self):
        before = list(declaration._declared)
        declaration._declared.clear()
        self.addCleanup(lambda: declaration._declared.__setitem__(slice(None), before))

    def test_plain_and_with_arguments(self):
        @evaluator
        def first_one(payload):
            """It says half."""
            return 0.5

        @evaluator(name="second", version="2.1", deterministic=False)
        def other(payload):
            return 1

        self.assertIsInstance(first_one, Evaluator)
        self.assertEqual(
            first_one.hello(),
            {"protocol": "parthack.evaluator/1", "name": "first-one", "version": "0", "deterministic": True},
        )
        self.assertEqual(
            other.hello(),
            {"protocol": "parthack.evaluator/1", "name": "second", "version": "2.1", "deterministic": False},
        )
        self.assertEqual((first_one({}), first_one.__doc__), (0.5, "It says half."))
        self.assertEqual(other.answer({}), {"score": 1.0, "exact": "1"})

    def test_names_are_identifiers(self):
        def __odd__(payload):
            return 1

        for function, name in (
            (lambda payload: 1, "lambda"),
            (__odd__, "odd"),
            (functools.partial(__odd__), "odd"),
            (Callable(), "Callable"),
        ):
            made = the_evaluator(function)
            self.assertEqual(made.name, name)
        for name in ("", "a b", "-a", "ä", "a" * 65, "a\n", 3):
            with self.assertRaisesRegex(DeclarationError, "name: expected"):
                evaluator(name=name)(lambda payload: 1)
        with self.assertRaisesRegex(DeclarationError, "version: expected a string, found 2"):
            evaluator(version=2)(lambda payload: 1)
        with self.assertRaisesRegex(DeclarationError, "deterministic: expected True or False"):
            evaluator(deterministic="yes")(lambda payload: 1)
        for nothing in ("text", 3, dict):
            with self.assertRaisesRegex(DeclarationError, "a function of the payload"):
                evaluator(nothing)

    def test_one_is_needed(self):
        with self.assertRaisesRegex(DeclarationError, "no evaluator is declared: put @evaluator"):
            the_evaluator()
        one = evaluator(lambda payload: 1)
        self.assertIs(the_evaluator(), one)
        other = evaluator(name="other")(lambda payload: 0)
        with self.assertRaisesRegex(DeclarationError, r"2 evaluators are declared: lambda \(.*\), other \(.*\); .*serve"):
            the_evaluator()
        self.assertIs(the_evaluator(other), other)
        with self.assertRaises(DeclarationError):
            score_file(launch.SAMPLE)

    def test_the_view_goes_to_those_who_ask_for_it(self):
        def kind(payload):
            return NoVerdict(type(payload).__name__)

        def plain(payload: dict):
            return kind(payload)

        def view(payload: Payload) -> float:
            return kind(payload)

        def text(payload: "Payload"):
            return kind(payload)

        def unresolved(payload: "elsewhere.Payload"):  # noqa: F821
            return kind(payload)

        def result_alone(payload) -> Payload:
            return kind(payload)

        cases = [
            (kind, "dict"),
            (plain, "dict"),
            (view, "Payload"),
            (text, "Payload"),
            (unresolved, "Payload"),
            (result_alone, "dict"),
            (Callable().__call__, "Payload"),
            (functools.partial(view), "Payload"),
        ]
        for function, expected in cases:
            made = Evaluator(function, None, "0", True)
            self.assertEqual(made.answer(launch.sample()), {"no_verdict": expected}, function)

    def test_the_view(self):
        data = launch.sample()
        view = Payload(data)
        for part in (
            "task_id",
            "environment_revision",
            "active_goal_version",
            "instruction",
            "goal_schema",
            "initial_state",
            "events",
            "terminal_state",
            "state_diff",
            "transcript",
        ):
            self.assertEqual(getattr(view, part), data[part])
            self.assertEqual(view[part], data[part])
        self.assertEqual(dict(view), data)
        self.assertEqual(view.instruction_text.count("\n\n"), len(data["instruction"]) - 1)
        self.assertEqual(repr(view), "Payload(task_id='PH-H03')")

    def test_reasons_may_be_raised(self):
        def raises(payload):
            raise NoVerdict("too short", detail={"steps": 1})

        self.assertEqual(
            the_evaluator(raises).answer({}), {"no_verdict": "too short", "detail": {"steps": 1}}
        )

    def test_what_is_no_payload(self):
        self.assertIn("a JSON object", the_evaluator(lambda payload: 1).answer([1])["no_verdict"])
        self.assertEqual(the_evaluator(lambda payload: 1).answer(Payload({})), {"score": 1.0, "exact": "1"})


class Callable:
    def __call__(self, payload: Payload):
        return NoVerdict(type(payload).__name__)


if __name__ == "__main__":
    unittest.main()
