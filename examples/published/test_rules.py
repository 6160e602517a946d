"""Tests of the published rules on small payloads made by hand, with answers worked out by hand.

    python3 -m unittest discover -s examples/published
"""

import copy
import json
import os
import subprocess
import sys
import unittest
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PACKAGE = FOLDER.parents[1] / "python"
SAMPLE = PACKAGE / "tests" / "data" / "payload.json"
for place in (PACKAGE, FOLDER):
    sys.path.insert(0, str(place))

from agentboard_progress import progress_rate  # noqa: E402
from parthack import NoVerdict, pointers  # noqa: E402
from rubric_tree import Node, aggregate, partial_completion  # noqa: E402
from tau2_action_match import partial_action_reward  # noqa: E402
from toolsandbox_milestones import best_matching, trajectory_similarity  # noqa: E402
from webcanvas_key_nodes import completion_rate  # noqa: E402

RULES = {
    "agentboard_progress": progress_rate,
    "webcanvas_key_nodes": completion_rate,
    "toolsandbox_milestones": trajectory_similarity,
    "tau2_action_match": partial_action_reward,
    "rubric_tree": partial_completion,
}


def entity(id, state="open", owner=None, kind="ticket", lifecycle="live"):
    return {
        "type": kind,
        "id": id,
        "incarnation": 1,
        "lifecycle": lifecycle,
        "fields": {"state": state, "owner": owner, "hours": 0},
    }


def update(id, kind="ticket", **fields):
    return {"op": "update", "type": kind, "id": id, "fields": fields}


def equals(field, value, id="t-1"):
    return {"kind": "field_equals", "type": "ticket", "id": id, "field": field, "value": value}


def owned(id="t-1", target="ana"):
    return {"kind": "refers_to", "type": "ticket", "id": id, "field": "owner", "target": target}


def payload(predicates, initial, steps, active=1, version=1):
    """A payload: `steps` are steps of the agent, or pairs of another actor and its step. Every one is applied."""
    state = {"goal_version": version, "entities": copy.deepcopy(initial)}
    events, transcript = [], []
    for step in steps:
        actor, step = step if isinstance(step, tuple) else ("agent", step)
        entry = {"tick": len(transcript) + 1, "actor": actor, "step": step, "result": "noted"}
        transcript.append(entry)
        if step["op"] in ("say", "read", "list", "wait"):
            continue
        diff = {}
        event = {"seq": len(events) + 1, "tick": entry["tick"], "actor": actor, "op": step["op"], "diff": diff}
        if step["op"] == "revise_goal":
            diff["goal"] = [state["goal_version"], step["version"]]
            state["goal_version"] = step["version"]
        else:
            event.update(type=step["type"], id=step["id"])
            found = [one for one in state["entities"] if (one["type"], one["id"]) == (step["type"], step["id"])]
            if step["op"] == "create":
                found = [entity(step["id"], None, None, step["type"])]
                state["entities"] += found
                diff.update(lifecycle=["absent", "live"], incarnation=[0, 1])
            if step["op"] in ("delete", "restore"):
                after = "deleted" if step["op"] == "delete" else "live"
                diff["lifecycle"] = [found[0]["lifecycle"], after]
                found[0]["lifecycle"] = after
            if "fields" in step:
                diff["fields"] = {name: [found[0]["fields"][name], value] for name, value in step["fields"].items()}
                found[0]["fields"].update(step["fields"])
        event["goal_version"] = state["goal_version"]
        entry.update(result="applied", event=event["seq"])
        events.append(event)
    return {
        "format": "parthack.payload/1",
        "task_id": "T-1",
        "active_goal_version": active,
        "goal_schema": [{"id": "g-%d" % i, "description": "", "predicate": p} for i, p in enumerate(predicates)],
        "initial_state": {"goal_version": version, "entities": initial},
        "events": events,
        "terminal_state": state,
        "transcript": transcript,
    }


# Two goals about one ticket; both are met at once, and then undone.
TWO = [owned(), equals("state", "resolved")]
PEAK = [update("t-1", owner="ana"), update("t-1", state="resolved"), update("t-1", state="open"), update("t-1", owner=None)]


class Rules(unittest.TestCase):
    def check(self, rule, expected, *made, **more):
        self.assertEqual(Fraction(rule(payload(*made, **more)).value), Fraction(expected))

    def test_each_rule_on_a_peak(self):
        expected = {
            "agentboard_progress": 1,
            "webcanvas_key_nodes": 1,
            "toolsandbox_milestones": 1,
            "tau2_action_match": 1,
            "rubric_tree": 0,
        }
        for name, rule in RULES.items():
            with self.subTest(name):
                self.check(rule, expected[name], TWO, [entity("t-1")], PEAK)

    def test_each_rule_on_nothing_and_on_success(self):
        for name, rule in RULES.items():
            with self.subTest(name):
                self.check(rule, 0, TWO, [entity("t-1")], [])
                self.check(rule, 1, TWO, [entity("t-1")], PEAK[:2])

    def test_agentboard_wants_subgoals_at_one_time(self):
        apart = [update("t-1", owner="ana"), update("t-1", owner=None), update("t-1", state="resolved")]
        self.check(progress_rate, "1/2", TWO, [entity("t-1")], apart)
        self.check(completion_rate, 1, TWO, [entity("t-1")], apart)

    def test_agentboard_looks_at_the_end_of_a_round(self):
        steps = [update("t-1", owner="ana"), ("user", update("t-1", owner=None))]
        self.check(progress_rate, 0, TWO, [entity("t-1")], steps)
        self.check(trajectory_similarity, "1/2", TWO, [entity("t-1")], steps)

    def test_agentboard_counts_the_state_that_the_agent_finds(self):
        steps = [("user", update("t-1", owner="ana")), update("t-1", owner=None)]
        self.check(progress_rate, "1/2", TWO, [entity("t-1")], steps)

    def test_webcanvas_parts_of_a_conjunction_are_nodes(self):
        goal = [{"kind": "all", "of": TWO}, equals("hours", 3)]
        self.check(completion_rate, "1/3", goal, [entity("t-1")], PEAK[:1])
        either = [{"kind": "any", "of": TWO}, equals("hours", 3)]
        self.check(completion_rate, "1/2", either, [entity("t-1")], PEAK[:1])

    def test_webcanvas_what_holds_at_first_is_no_node(self):
        self.check(completion_rate, 0, TWO, [entity("t-1", owner="ana")], [{"op": "wait"}])
        with self.assertRaises(NoVerdict):
            completion_rate(payload(TWO, [entity("t-1", "resolved", "ana")], PEAK[2:]))

    def test_toolsandbox_matching_keeps_the_order(self):
        # The first milestone is matched after the second alone.
        similarity = [[0, 0, 1], [0, 1, 0]]
        self.assertEqual(best_matching(similarity, set()), [1, 1])
        self.assertEqual(sum(best_matching(similarity, {(0, 1)})), 1)
        self.assertEqual(best_matching(similarity, {(1, 0)}), [1, 1])
        self.assertEqual(best_matching([[0, 1], [0, 1]], {(0, 1)}), [1, 1])

    def test_toolsandbox_existence_comes_before_fields(self):
        goal = [{"kind": "exists", "type": "ticket", "id": "t-2"}, {"kind": "not", "of": equals("state", "open", "t-2")}]
        create = {"op": "create", "type": "ticket", "id": "t-2", "fields": {"state": "open"}}
        # A `not` holds before the ticket exists, but after it no more; and an open ticket is a minefield.
        self.check(trajectory_similarity, 0, goal, [entity("t-1")], [create])
        create["fields"]["state"] = "new"
        self.check(trajectory_similarity, 1, goal, [entity("t-1")], [create])

    def test_toolsandbox_minefield_zeroes(self):
        goal = TWO + [{"kind": "absent", "type": "ticket", "id": "t-9"}]
        create = {"op": "create", "type": "ticket", "id": "t-9", "fields": {}}
        self.check(trajectory_similarity, 1, goal, [entity("t-1")], PEAK[:2])
        self.check(trajectory_similarity, 0, goal, [entity("t-1")], PEAK[:2] + [create])

    def test_toolsandbox_guardrail(self):
        world = [entity("t-1"), entity("m-1", kind="memo")]
        touch = update("m-1", "memo", state="gone")
        self.check(trajectory_similarity, "1/2", TWO, world, [PEAK[0], touch, PEAK[1]])
        self.check(trajectory_similarity, 1, TWO, world, [PEAK[0], ("user", touch), PEAK[1]])
        back = update("m-1", "memo", state="open")
        self.check(trajectory_similarity, 1, TWO, world, [PEAK[0], touch, PEAK[1], back])

    def test_toolsandbox_milestones_of_a_request_that_was_not_made(self):
        revise = {"op": "revise_goal", "version": 2}
        self.check(trajectory_similarity, 0, TWO, [entity("t-1")], PEAK + [revise], active=2)
        self.check(trajectory_similarity, "1/2", TWO, [entity("t-1")], PEAK[:3] + [revise], active=2)
        self.check(trajectory_similarity, 0, TWO, [entity("t-1")], PEAK[:2], active=2)
        self.check(progress_rate, 1, TWO, [entity("t-1")], PEAK + [revise], active=2)

    def test_tau2_arguments_are_compared(self):
        bound = {"kind": "field_at_most", "type": "ticket", "id": "t-1", "field": "hours", "value": -1}
        goal = [owned(), bound]
        self.check(partial_action_reward, 0, goal, [entity("t-1"), entity("t-2")], [update("t-2", owner="ana")])
        self.check(partial_action_reward, 0, goal, [entity("t-1")], [update("t-1", owner="bob")])
        self.check(partial_action_reward, "1/2", goal, [entity("t-1")], [update("t-1", hours=-4, owner="bob")])

    def test_tau2_arguments_of_one_entity_stand_in_one_call(self):
        goal = [{"kind": "all", "of": TWO}, equals("hours", 3)]
        self.check(partial_action_reward, 0, goal, [entity("t-1")], PEAK[:2])
        self.check(partial_action_reward, "1/2", goal, [entity("t-1")], [update("t-1", owner="ana", state="resolved")])

    def test_tau2_calls_of_others_do_not_match(self):
        self.check(partial_action_reward, 0, TWO, [entity("t-1")], [("user", PEAK[0])])

    def test_tau2_refused_calls_match(self):
        made = payload(TWO, [entity("t-1")], [])
        refusal = {"code": "precondition", "message": ""}
        made["transcript"] = [{"tick": 1, "actor": "agent", "step": PEAK[0], "result": "refused", "refusal": refusal}]
        self.assertEqual(partial_action_reward(made).value, Fraction(1, 2))

    def test_tau2_names_of_operations(self):
        there = {"kind": "exists", "type": "ticket", "id": "t-1"}
        gone = {"kind": "deleted", "type": "ticket", "id": "t-2"}
        goal = [there, gone, {"kind": "goal_version", "version": 2}, equals("state", "open"), equals("hours", 1, "t-3")]
        world = [entity("t-1", lifecycle="deleted"), entity("t-2"), entity("t-3")]
        restore = {"op": "restore", "type": "ticket", "id": "t-1"}
        # Restored, the ticket is open, as it was.
        self.check(partial_action_reward, "2/5", goal, world, [restore])
        self.check(partial_action_reward, "1/5", goal, world, [{"op": "delete", "type": "ticket", "id": "t-2"}])
        self.check(partial_action_reward, "1/5", goal, world, [{"op": "revise_goal", "version": 2}], active=2)

    def test_tau2_without_gold_actions_the_database_decides(self):
        count = {"kind": "count", "type": "ticket", "compare": "at_most", "count": 0}
        self.check(partial_action_reward, 0, [count], [entity("t-1")], [{"op": "wait"}])
        delete = {"op": "delete", "type": "ticket", "id": "t-1"}
        self.check(partial_action_reward, 1, [count], [entity("t-1")], [delete])

    def test_rubric_gates_then_averages(self):
        def leaf(met, is_critical):
            return Node("", is_critical, met)

        cases = [
            ([leaf(True, True), leaf(True, False), leaf(False, False)], "1/2"),
            ([leaf(False, True), leaf(True, False), leaf(True, False)], "0"),
            ([leaf(True, True), leaf(True, True)], "1"),
            ([leaf(True, True), leaf(False, True)], "0"),
            ([Node("", True, [leaf(True, False), leaf(False, False)]), leaf(True, False)], "0"),
            ([Node("", False, [leaf(True, False), leaf(False, False)]), leaf(True, False)], "3/4"),
        ]
        for children, expected in cases:
            self.assertEqual(aggregate(Node("root", False, children)), Fraction(expected))

    def test_rubric_of_a_goal(self):
        goal = TWO + [equals("hours", 3), equals("state", "resolved", "t-2")]
        world = [entity("t-1"), entity("t-2")]
        # The state alone is behind the owner's gate.
        self.check(partial_completion, 0, goal, world, [update("t-1", state="resolved")])
        self.check(partial_completion, "1/4", goal, world, PEAK[:2])
        self.check(partial_completion, "3/4", goal, world, PEAK[:2] + [update("t-2", state="resolved")])

    def test_rubric_of_a_goal_that_is_not_in_force(self):
        self.check(partial_completion, 0, TWO, [entity("t-1")], PEAK[:2], active=2)


class Programs(unittest.TestCase):
    """Each rule as the program that a host starts."""

    def run_rule(self, name, seed):
        with open(SAMPLE, encoding="utf-8") as file:
            self.sample = json.load(file)
        line = json.dumps(self.sample, sort_keys=True, separators=(",", ":"))
        text = "\n".join(['{"protocol":"parthack.evaluator/1"}', line, line, "no payload", line, ""])
        environment = {"PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": seed}
        command = [sys.executable, str(FOLDER / (name + ".py"))]
        keep = {key: os.environ[key] for key in ("SYSTEMROOT", "LD_LIBRARY_PATH") if key in os.environ}
        done = subprocess.run(command, input=text, capture_output=True, text=True, env={**keep, **environment}, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_form_of_answers_and_that_they_stay_the_same(self):
        for name in RULES:
            with self.subTest(name):
                output = self.run_rule(name, "0")
                self.assertEqual(output, self.run_rule(name, "1"))
                hello, first, second, refused, third = map(json.loads, output.splitlines())
                self.assertEqual((hello["protocol"], hello["deterministic"]), ("parthack.evaluator/1", True))
                self.assertEqual(hello["name"], name.replace("_", "-"))
                self.assertTrue(first == second == third)
                self.assertEqual(set(refused), {"no_verdict"})
                self.assertEqual(float(Fraction(first["exact"])), first["score"])
                self.assertTrue(0 <= first["score"] <= 1)
                self.assertTrue(all(pointers.resolves(self.sample, cite) for cite in first.get("cites", [])))


if __name__ == "__main__":
    unittest.main()
