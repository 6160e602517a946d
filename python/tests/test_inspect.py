"""Scorers of Inspect as evaluators: with stand-ins for Inspect's classes, and with Inspect itself where it is installed."""

import asyncio
import contextlib
import importlib.util
import io
import json
import sys
import unittest
from fractions import Fraction

import launch
from parthack import DeclarationError, NoVerdict
from parthack.conversation import completion_of, messages_of
from parthack.inspect import PlainState, from_inspect_scorer, mean, state_of

HAS_INSPECT = importlib.util.find_spec("inspect_ai") is not None


class Score:
    """What Inspect's Score is, as far as a reader can see."""

    def __init__(self, value, answer=None, explanation=None, reason=None):
        self.value = value
        self.answer = answer
        self.explanation = explanation
        self.reason = reason


def gives(value, **more):
    async def score(state, target):
        return Score(value, **more)

    return score


class Values(unittest.TestCase):
    def setUp(self):
        silence = contextlib.redirect_stderr(io.StringIO())  # Errors of scorers are printed there.
        silence.__enter__()
        self.addCleanup(silence.__exit__, None, None, None)

    def answer(self, value, **options):
        return from_inspect_scorer(gives(value), classes="plain", **options).answer(launch.sample())

    def test_scalars(self):
        for value, expected in [
            ("C", 1),
            ("I", 0),
            ("P", Fraction(1, 2)),
            ("N", 0),
            ("yes", 1),
            ("No", 0),
            ("TRUE", 1),
            ("false", 0),
            ("0.25", Fraction(1, 4)),
            (" 1 ", 1),
            (True, 1),
            (False, 0),
            (1, 1),
            (0.25, 0.25),
        ]:
            answer = self.answer(value)
            self.assertEqual(answer.get("score"), float(expected), (value, answer))
        self.assertEqual(self.answer("P")["exact"], "1/2")

    def test_no_verdicts(self):
        for value, words in [
            ("X", "'X'; expected C, P, I, N"),
            ("c", "'c'; expected C, P, I, N"),
            ("1/0", "expected C"),
            ("", "expected C"),
            ("7", "outside"),
            (1.5, "outside"),
            (float("inf"), "inf"),
            (None, "missing"),
            (float("nan"), "unscored"),
            ([1, 0], "key=mean"),
            ({"a": 1, "b": 0}, "the values a, b; say which is the score"),
            ({}, "say which"),
        ]:
            answer = self.answer(value)
            self.assertEqual([*answer], ["no_verdict"], (value, answer))
            self.assertIn(words, answer["no_verdict"])
        scorer = from_inspect_scorer(gives(float("nan"), reason="invalid_grade"), classes="plain")
        self.assertEqual(scorer.answer(launch.sample()), {"no_verdict": "the scorer left it unscored: invalid_grade"})

    def test_several_values(self):
        values = {"style": 0.25, "goal": "C"}
        self.assertEqual(self.answer({"goal": "P"})["score"], 0.5)
        self.assertEqual(self.answer(values, key="goal")["score"], 1.0)
        self.assertEqual(self.answer(values, key=mean)["exact"], "5/8")
        self.assertEqual(self.answer([True, "I", "P"], key=mean)["exact"], "1/2")
        self.assertEqual(self.answer(values, key=lambda found: found["style"])["score"], 0.25)
        self.assertEqual(self.answer(values, value_to_float=lambda found: found["style"] / 2)["score"], 0.125)
        self.assertIn("no value 'speed'; it has style, goal", self.answer(values, key="speed")["no_verdict"])
        self.assertIn("empty", self.answer([], key=mean)["no_verdict"])

    def test_what_the_scorer_says_beside_the_score(self):
        scorer = from_inspect_scorer(gives("C", answer="42", explanation="It is."), classes="plain")
        self.assertEqual(
            scorer.answer(launch.sample())["detail"], {"answer": "42", "explanation": "It is.", "value": "C"}
        )

    def test_scorers_that_are_none(self):
        for nothing in (None, "scorer", Score):
            with self.assertRaisesRegex(DeclarationError, "async function of state and target"):
                from_inspect_scorer(nothing)
        with self.assertRaisesRegex(DeclarationError, "classes: expected auto, plain or inspect, found 'real'"):
            from_inspect_scorer(gives(1), classes="real")

        async def silent(state, target):
            return None

        async def number(state, target):
            return 1

        def factory(state=None, target=None):
            return gives(1)

        async def failing(state, target):
            raise LookupError("no such file")

        for scorer, words in (
            (silent, "the scorer returned no score"),
            (number, "TypeError: the scorer returned 1; expected a Score"),
            (factory, "made by calling my_scorer()"),
            (failing, "LookupError: no such file"),
        ):
            answer = from_inspect_scorer(scorer, classes="plain").answer(launch.sample())
            self.assertIn(words, answer["no_verdict"])

    def test_plain_functions_and_names(self):
        def always(state, target):
            return Score("P")

        made = from_inspect_scorer(always, classes="plain", version="2", deterministic=False)
        self.assertEqual(made.answer(launch.sample())["score"], 0.5)
        self.assertEqual(
            made.hello(),
            {
                "protocol": "parthack.evaluator/1",
                "name": "test-plain-functions-and-names",
                "version": "2",
                "deterministic": False,
            },
        )
        self.assertEqual(from_inspect_scorer(gives(1)).name, "gives")
        self.assertEqual(from_inspect_scorer(gives(1), name="mine").name, "mine")

        class Registered:
            name = "my_package/goal_match"

        scorer = gives(1)
        scorer.__registry_info__ = Registered
        self.assertEqual(from_inspect_scorer(scorer).name, "goal-match")

    def test_scorers_that_wait(self):
        async def part(value):
            await asyncio.sleep(0)
            return value

        async def score(state, target):
            return Score(sum(await asyncio.gather(part(0.25), part(0.5))))

        evaluator = from_inspect_scorer(score, classes="plain")
        self.assertEqual([evaluator.answer(launch.sample())["score"] for _ in range(3)], [0.75] * 3)


class States(unittest.TestCase):
    def test_the_sample_as_a_conversation(self):
        payload = launch.sample()
        messages = messages_of(payload)
        texts = [part["text"] for part in payload["instruction"]]
        found = [
            (message.role, message.tool_calls[0].function if message.tool_calls else message.content)
            for message in messages
        ]
        self.assertEqual(found[0], ("user", texts[0]))
        self.assertEqual(found[1], ("assistant", "Could the security desk look at release 6, please?"))
        self.assertEqual(
            found[2],
            ("system", 'system: update {"fields":{"tests":"failed"},"id":"bld-410","type":"build"}: applied'),
        )
        self.assertEqual(
            found[3],
            ("user", 'peer: update {"fields":{"verdict":"passed"},"id":"gt-security","type":"gate"}: applied'),
        )
        self.assertEqual(found[4][0], "user")
        self.assertTrue(found[4][1].startswith("peer: Security has passed."))
        self.assertEqual(found[5:7], [("assistant", "delete"), ("tool", "refused")])
        self.assertEqual(found[7], ("assistant", "read"))
        self.assertEqual(json.loads(found[8][1]), payload["transcript"][5]["output"])
        self.assertEqual(found[9:12], [("assistant", "revise_goal"), ("tool", "ok"), ("user", texts[1])])
        self.assertEqual(found[12:16], [("assistant", "update"), ("tool", "ok")] * 2)
        self.assertEqual(found[16:], [("assistant", payload["transcript"][-1]["step"]["text"])])
        call, result = messages[5].tool_calls[0], messages[6]
        self.assertEqual(call.arguments, {"type": "build", "id": "bld-409"})
        self.assertEqual((result.tool_call_id, result.function), (call.id, "delete"))
        self.assertRegex(result.error.message, "^operation_not_allowed: ")
        self.assertEqual(len({message.id for message in messages}), len(messages))
        self.assertEqual(completion_of(messages), found[-1][1])

    def test_a_user_who_speaks_and_an_agent_that_does_not(self):
        payload = launch.sample()
        payload["transcript"] = [
            {"actor": "user", "result": "noted", "step": {"op": "say", "text": "Hello?", "to": "agent"}, "tick": 1},
            {"actor": "agent", "result": "noted", "step": {"op": "wait"}, "tick": 2},
        ]
        messages = messages_of(payload)
        self.assertEqual([message.role for message in messages], ["user", "user", "assistant", "tool"])
        self.assertEqual(messages[1].content, "Hello?")
        self.assertEqual(completion_of(messages), "")

    def test_the_plain_state(self):
        payload = launch.sample()
        state = state_of(payload, ["a", "b"], "plain")
        self.assertIsInstance(state, PlainState)
        self.assertEqual((state.sample_id, state.epoch, state.completed), (payload["task_id"], 1, True))
        self.assertEqual(state.output.completion, "Done so far – the rest waits for “Lärche”.")
        self.assertFalse(state.output.empty)
        self.assertEqual(state.user_prompt.text, payload["instruction"][1]["text"])
        self.assertIn(payload["instruction"][1]["text"], state.input_text)
        self.assertEqual(state.metadata["payload"], payload)
        self.assertEqual((list(state.target), state.target.text), (["a", "b"], "ab"))
        self.assertEqual((state.target[1], len(state.target)), ("b", 2))

    def test_the_target_may_depend_on_the_payload(self):
        seen = []

        async def score(state, target):
            seen.append(target.text)
            return Score(target.text in state.output.completion)

        for target, expected in (("Lärche", 1.0), ("Fichte", 0.0), (lambda payload: payload.task_id, 0.0)):
            answer = from_inspect_scorer(score, target=target, classes="plain").answer(launch.sample())
            self.assertEqual(answer["score"], expected)
        self.assertEqual(seen, ["Lärche", "Fichte", "PH-H03"])

    def test_a_program_that_serves_a_scorer(self):
        done = launch.run(
            """
            from parthack import serve
            from parthack.inspect import from_inspect_scorer

            class Score:
                def __init__(self, value):
                    self.value = value

            def calls_of(name):
                async def score(state, target):
                    calls = [call for message in state.messages for call in message.tool_calls or ()]
                    return Score(sum(call.function == name for call in calls) / len(calls))
                return score

            serve(from_inspect_scorer(calls_of("update")))

            import sys
            assert "inspect_ai" not in sys.modules
            """,
            [launch.sample()],
        )
        self.assertEqual(done.hello["name"], "calls-of")
        self.assertEqual((done.answers, done.code), ([{"score": 0.4}], 0))


class Missing(unittest.TestCase):
    def test_the_text_when_inspect_is_not_installed(self):
        kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "inspect_ai"}
        for name in kept:
            del sys.modules[name]
        sys.modules["inspect_ai"] = None
        try:
            with self.assertRaisesRegex(ImportError, r'classes="inspect" needs the package inspect_ai.*pip install'):
                from_inspect_scorer(gives(1), classes="inspect")
        finally:
            del sys.modules["inspect_ai"]
            sys.modules.update(kept)


@unittest.skipUnless(HAS_INSPECT, "inspect_ai is not installed")
class WithInspect(unittest.TestCase):
    def test_scorers_of_inspect(self):
        from inspect_ai.scorer import exact, f1, includes, match, pattern

        text = "Done so far – the rest waits for “Lärche”."
        for scorer, target, expected in (
            (includes(), "lärche", 1.0),
            (includes(ignore_case=False), "lärche", 0.0),
            (match(location="begin"), "Done", 1.0),
            (exact(), text, 1.0),
            (f1(), text, 1.0),
            (pattern(r"(\w+) so far"), "Done", 1.0),
            (includes(), ["Fichte", "Lärche"], 1.0),
        ):
            made = from_inspect_scorer(scorer, target=target)
            answer = made.answer(launch.sample())
            self.assertEqual(answer.get("score"), expected, (made.name, answer))
        self.assertEqual(from_inspect_scorer(includes()).name, "includes")

    def test_the_state_is_inspects_own(self):
        from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
        from inspect_ai.scorer import CORRECT, Score as NativeScore, Target, accuracy, scorer
        from inspect_ai.solver import TaskState

        seen = []

        @scorer(metrics=[accuracy()], name="looks")
        def looks():
            async def score(state: TaskState, target: Target) -> NativeScore:
                seen.append((state, target))
                return NativeScore(value={"goal": CORRECT, "style": 0.5}, explanation="seen")

            return score

        made = from_inspect_scorer(looks(), key=mean, target="x")
        self.assertEqual((made.name, made.answer(launch.sample())["exact"]), ("looks", "3/4"))
        state, target = seen[0]
        self.assertIsInstance(state, TaskState)
        self.assertIsInstance(target, Target)
        plain = state_of(launch.sample(), "x", "plain")
        kinds = {
            "user": ChatMessageUser,
            "assistant": ChatMessageAssistant,
            "tool": ChatMessageTool,
            "system": ChatMessageSystem,
        }
        self.assertEqual(len(state.messages), len(plain.messages))
        for native, message in zip(state.messages, plain.messages):
            self.assertIsInstance(native, kinds[message.role])
            self.assertEqual((native.id, native.role, native.text), (message.id, message.role, message.text))
            if message.role == "tool":
                self.assertEqual((native.tool_call_id, native.function), (message.tool_call_id, message.function))
                self.assertEqual(native.error and native.error.message, message.error and message.error.message)
            if message.tool_calls:
                self.assertEqual(
                    [(call.id, call.function, call.arguments) for call in native.tool_calls],
                    [(call.id, call.function, call.arguments) for call in message.tool_calls],
                )
        for part in ("sample_id", "epoch", "completed", "input_text", "metadata", "uuid"):
            self.assertEqual(getattr(state, part), getattr(plain, part), part)
        self.assertEqual(state.output.completion, plain.output.completion)
        self.assertEqual(str(state.model), str(plain.model))
        self.assertEqual(state.user_prompt.text, plain.user_prompt.text)

    def test_unscored(self):
        from inspect_ai.scorer import Score as NativeScore

        async def score(state, target):
            return NativeScore.unscored(reason="parse_failure")

        self.assertRegex(from_inspect_scorer(score).answer(launch.sample())["no_verdict"], "unscored: parse_failure")

    def test_values_as_inspect_reads_them(self):
        from inspect_ai.scorer import value_to_float

        theirs = value_to_float()
        for value in ("C", "I", "P", "N", "yes", "no", "True", "false", "0.5", "1", 1, 0, True, False, 0.25):
            answer = from_inspect_scorer(gives(value)).answer(launch.sample())
            self.assertEqual(answer.get("score"), theirs(value), value)

    def test_mean_raises_no_verdict_for_nothing(self):
        with self.assertRaises(NoVerdict):
            mean({})


if __name__ == "__main__":
    unittest.main()
