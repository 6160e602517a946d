"""This package's reading of goal schemas, held against the parthack program's on every task of the reference suite.

Needs the program: PARTHACK_BIN, or one built in this repository, or on PATH.
"""

import copy
import json
import random
import subprocess
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import launch
from parthack import Evaluator
from parthack.schema import check_predicate, leaves, satisfied, satisfied_fraction, states

SUITE = launch.REPOSITORY / "tasks" / "pb-cste-1"
RULES = ("csps", "terminal-outcome", "historical-milestone", "predicate-max")
CANDIDATES_A_TASK = 4
SCHEMAS_A_PAYLOAD = 40


def csps(payload):
    held = satisfied(payload)
    return Fraction(sum(held), len(held))


def terminal_outcome(payload):
    return all(satisfied(payload))


def historical_milestone(payload):
    return max(satisfied_fraction(payload, state) for state in states(payload))


def predicate_max(payload):
    ever = [any(column) for column in zip(*(satisfied(payload, state) for state in states(payload)))]
    return Fraction(sum(ever), len(ever))


OURS = [Evaluator(function, None, "0", True) for function in (csps, terminal_outcome, historical_milestone, predicate_max)]


class AgainstTheProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = launch.program()
        if cls.program is None:
            raise unittest.SkipTest("no parthack program found: build it, or name it in PARTHACK_BIN")
        cls.tasks = [json.loads(path.read_text("utf-8")) for path in sorted(SUITE.glob("PH-*.json"))]
        if not cls.tasks:
            raise unittest.SkipTest("no tasks at {}: these tests need the repository".format(SUITE))

    def payload(self, task, steps):
        candidate = {"format": "parthack.candidate/1", "task_id": task["id"], "steps": steps}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidate.json"
            path.write_text(json.dumps(candidate), "utf-8")
            return replayed(self.program, path, "--task", str(SUITE / (task["id"] + ".json")))

    def compare(self, payloads):
        """Both sides' scores of all payloads; returns how often each rule's score was 0, between, and 1."""
        lines = b"".join(json.dumps(payload, separators=(",", ":"), sort_keys=True).encode() + b"\n" for payload in payloads)
        done = subprocess.run(
            [self.program, "__evaluate", "--rules", ",".join(RULES)], input=lines, stdout=subprocess.PIPE, check=True
        )
        answers = [json.loads(line)["scores"] for line in done.stdout.splitlines()[1:]]
        self.assertEqual(len(answers), len(payloads))
        seen = {rule: [0, 0, 0] for rule in RULES}
        for payload, theirs in zip(payloads, answers):
            for rule, their, evaluator in zip(RULES, theirs, OURS):
                our = evaluator.answer(payload)
                self.assertEqual(our, their, "{} of {}: {}".format(rule, payload["task_id"], payload["goal_schema"]))
                seen[rule][0 if our["score"] == 0 else 2 if our["score"] == 1 else 1] += 1
        return seen

    def test_the_sample_is_what_the_program_prints(self):
        task = str(SUITE / (launch.sample()["task_id"] + ".json"))
        self.assertEqual(replayed(self.program, launch.SAMPLE_CANDIDATE, "--task", task), launch.sample())

    def test_honest_trajectories(self):
        self.assertEqual(len(self.tasks), 24)
        payloads = [self.payload(task, task["honest"]) for task in self.tasks]
        self.compare(payloads)
        for payload in payloads:
            for goal in payload["goal_schema"]:
                check_predicate(goal["predicate"])

    def test_random_trajectories_and_random_goals(self):
        payloads = []
        for task in self.tasks:
            dice = random.Random(task["id"])
            for _ in range(CANDIDATES_A_TASK):
                payload = self.payload(task, random_steps(task, dice))
                payloads.append(payload)
                self.assertEqual(satisfied(payload), satisfied(payload, states(payload)[-1]))
                for _ in range(SCHEMAS_A_PAYLOAD):
                    changed = copy.copy(payload)
                    changed["goal_schema"] = [
                        {"id": "g-{}".format(index), "description": "", "predicate": random_predicate(payload, dice)}
                        for index in range(dice.randint(1, 5))
                    ]
                    payloads.append(changed)
                    self.assertEqual(satisfied(changed), satisfied(changed, states(changed)[-1]))
        seen = self.compare(payloads)
        for rule, (none, some, full) in seen.items():
            self.assertTrue(none > 100 and full > 100, (rule, none, some, full))
            self.assertTrue(some > 100 or rule == "terminal-outcome", (rule, none, some, full))
        self.each_kind_held_and_failed(payloads)

    def each_kind_held_and_failed(self, payloads):
        outcomes = set()
        for payload in payloads:
            for goal, held in zip(payload["goal_schema"], satisfied(payload)):
                outcomes.add((goal["predicate"]["kind"], held))
                for leaf in leaves(goal["predicate"]):
                    for term in leaf.get("filter", ()):
                        outcomes.update(("filter", test) for test in term if test != "field")
        kinds = {kind for kind, _ in outcomes} - {"filter"}
        self.assertEqual(len(kinds), 14)
        for kind in kinds:
            self.assertTrue({(kind, True), (kind, False)} <= outcomes, kind)
        for test in ("equals", "in", "at_least", "at_most", "contains"):
            self.assertIn(("filter", test), outcomes)


def replayed(program, path, *arguments):
    """The payload of a candidate; a candidate with a refused step has one too."""
    done = subprocess.run([program, "replay", str(path), "--format", "payload", *arguments], stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def random_steps(task, dice):
    """The honest steps, some left out, among random ones."""
    steps = []
    for step in task["honest"]:
        steps.extend(random_step(task, dice) for _ in range(dice.choice((0, 0, 1, 3))))
        if dice.random() < 0.7:
            steps.append(step)
    return steps


def random_step(task, dice):
    kind = dice.choice(task["entity_types"])
    ids = [entity["id"] for entity in task["initial_state"] if entity["type"] == kind["name"]] + kind["creatable"]
    target = {"type": kind["name"], "id": dice.choice(ids)} if ids else {"type": kind["name"], "id": "nobody"}
    fields = [field for field in kind["fields"] if field["visibility"] == "public"]
    op = dice.choice(task["allowlist"]["agent"])
    if op == "update" and fields:
        field = dice.choice(fields)
        return {"op": "update", **target, "fields": {field["name"]: random_value(task, field, dice)}}
    if op == "create":
        return {"op": op, **target, "fields": {field["name"]: random_value(task, field, dice) for field in fields}}
    if op == "say":
        return {"op": op, "to": dice.choice(("user", "peer", "system")), "text": "Please go on."}
    if op == "revise_goal":
        return {"op": op, "version": dice.randint(1, 3)}
    if op in ("delete", "restore", "read"):
        return {"op": op, **target}
    return {"op": "list", "type": kind["name"]}


def random_value(task, field, dice):
    if field["optional"] and dice.random() < 0.2:
        return None
    if field.get("universe") and dice.random() < 0.7:
        return dice.choice(field["universe"])
    return random_scalar(task, field["type"], dice)


def random_scalar(task, kind, dice):
    if kind["kind"] == "bool":
        return dice.random() < 0.5
    if kind["kind"] == "integer":
        return dice.randint(kind["min"], kind["max"])
    if kind["kind"] == "tick":
        return dice.randint(0, 9)
    if kind["kind"] == "enum":
        return dice.choice(kind["symbols"])
    if kind["kind"] == "ref":
        return dice.choice([entity["id"] for entity in task["initial_state"] if entity["type"] == kind["entity_type"]])
    if kind["kind"] == "set":
        return sorted({random_scalar(task, kind["of"], dice) for _ in range(dice.randint(0, 3))})
    return dice.choice(("", "a", "über"))


def random_predicate(payload, dice, depth=0):
    kind = dice.choice(("all", "any", "not", "goal_version", *["entity"] * 2, *["count"] * 2, *["field"] * 3))
    if kind in ("all", "any", "not") and depth < 3:
        if kind == "not":
            return {"kind": "not", "of": random_predicate(payload, dice, depth + 1)}
        return {"kind": kind, "of": [random_predicate(payload, dice, depth + 1) for _ in range(dice.randint(1, 3))]}
    if kind == "goal_version":
        return {"kind": kind, "version": dice.randint(1, 3)}
    entity = dice.choice(payload["terminal_state"]["entities"])
    if kind == "count":
        terms = [random_term(payload, entity, dice) for _ in range(dice.randint(0, 2))]
        compare = dice.choice(("at_least", "at_most", "equals"))
        return {"kind": kind, "type": entity["type"], "filter": terms, "compare": compare, "count": dice.randint(0, 3)}
    target = {"type": entity["type"], "id": entity["id"] if dice.random() < 0.9 else "nobody"}
    pin = {"incarnation": dice.randint(1, 2)} if dice.random() < 0.2 else {}
    if kind == "entity":
        kind = dice.choice(("exists", "absent", "deleted"))
        return {"kind": kind, **target, **({} if kind == "absent" else pin)}
    term = random_term(payload, entity, dice)
    test = next(key for key in term if key != "field")
    if test == "equals" and isinstance(term[test], str) and is_identifier(term[test]) and dice.random() < 0.5:
        return {"kind": "refers_to", **target, **pin, "field": term["field"], "target": term[test]}
    name, key = {
        "equals": ("field_equals", "value"),
        "in": ("field_in", "values"),
        "at_least": ("field_at_least", "value"),
        "at_most": ("field_at_most", "value"),
        "contains": ("set_contains", "value"),
    }[test]
    return {"kind": name, **target, **pin, "field": term["field"], key: term[test]}


def random_term(payload, entity, dice):
    """A test of one field: of its own value or another's, sometimes of another kind."""
    name = dice.choice(sorted(entity["fields"]))
    value = entity["fields"][name]
    entities = payload["terminal_state"]["entities"]
    others = [other["fields"].get(name) for other in entities if other["type"] == entity["type"]]
    strange = [None, True, False, 0, 1, "", "1", "true", [], [1], {"token": "tok_0"}]

    def pick():
        picked = dice.choice((value, value, dice.choice(others), dice.choice(strange)))
        return picked

    if dice.random() < 0.05:
        name = "nothing"
    if isinstance(value, list) and dice.random() < 0.6:
        elements = value + ["red", 1, {"token": "tok_0"}]
        return {"field": name, "contains": dice.choice(elements)}
    if isinstance(value, int) and dice.random() < 0.6:
        return {"field": name, dice.choice(("at_least", "at_most")): int(value) + dice.randint(-1, 1)}
    test = dice.choice(("equals", "equals", "in", "at_least", "at_most", "contains"))
    if test == "equals":
        return {"field": name, test: pick()}
    if test == "in":
        return {"field": name, test: [pick() for _ in range(dice.randint(1, 3))]}
    if test == "contains":
        return {"field": name, test: dice.choice((1, "red", None, True))}
    return {"field": name, test: dice.randint(-1, 9)}


def is_identifier(text):
    return 0 < len(text) <= 64 and text[0].isalnum() and text.isascii() and all(c.isalnum() or c in "._:-" for c in text)


if __name__ == "__main__":
    unittest.main()
