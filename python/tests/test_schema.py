"""Each kind of predicate, one case a line, and what is no predicate."""

import json
import unittest
from fractions import Fraction

import launch
from parthack import Payload, schema
from parthack.schema import SchemaError, StateView

TOKEN = {"token": "tok_00112233445566778899aabbccddeeff"}
STATE = {
    "goal_version": 2,
    "entities": [
        {
            "type": "ticket",
            "id": "t-1",
            "incarnation": 2,
            "lifecycle": "live",
            "fields": {
                "status": "open",
                "score": 5,
                "owner": "ana",
                "labels": ["red", "urgent"],
                "paid": True,
                "note": None,
                "audit": TOKEN,
                "audits": [TOKEN],
            },
        },
        {
            "type": "ticket",
            "id": "t-2",
            "incarnation": 1,
            "lifecycle": "deleted",
            "fields": {"status": "open", "score": 9, "labels": []},
        },
        {"type": "ticket", "id": "t-3", "incarnation": 1, "lifecycle": "live", "fields": {"status": "done", "score": 1}},
    ],
}
T1 = {"type": "ticket", "id": "t-1"}
T2 = {"type": "ticket", "id": "t-2"}
NO = {"type": "ticket", "id": "t-9"}


def field(kind, name, **test):
    return {"kind": kind, **T1, "field": name, **test}


def count(compare, number, *terms):
    return {"kind": "count", "type": "ticket", "filter": list(terms), "compare": compare, "count": number}


YES_LEAF = {"kind": "exists", **T1}
NO_LEAF = {"kind": "absent", **T1}

HOLDS = [
    {"kind": "exists", **T1},
    {"kind": "exists", **T1, "incarnation": 2},
    {"kind": "absent", **NO},
    {"kind": "deleted", **T2},
    {"kind": "deleted", **T2, "incarnation": 1},
    field("field_equals", "status", value="open"),
    field("field_equals", "status", value="open", incarnation=2),
    field("field_equals", "note", value=None),
    field("field_equals", "nothing", value=None),
    field("field_equals", "paid", value=True),
    field("field_equals", "labels", value=["red", "urgent"]),
    field("field_equals", "audit", value=TOKEN),
    field("field_in", "status", values=["done", "open"]),
    field("field_at_least", "score", value=5),
    field("field_at_most", "score", value=5),
    field("refers_to", "owner", target="ana"),
    field("set_contains", "labels", value="urgent"),
    field("set_contains", "audits", value=TOKEN),
    count("equals", 2),
    count("at_least", 1, {"field": "status", "equals": "open"}),
    count("at_most", 1, {"field": "status", "in": ["open", "shut"]}),
    count("equals", 1, {"field": "score", "at_least": 2}, {"field": "labels", "contains": "red"}),
    count("equals", 1, {"field": "score", "at_most": 1}),
    count("equals", 0, {"field": "labels", "contains": "blue"}),
    {"kind": "count", "type": "ticket", "compare": "equals", "count": 2},
    {"kind": "goal_version", "version": 2},
    {"kind": "all", "of": [YES_LEAF, YES_LEAF]},
    {"kind": "any", "of": [NO_LEAF, YES_LEAF]},
    {"kind": "not", "of": NO_LEAF},
    {"kind": "not", "of": {"kind": "all", "of": [YES_LEAF, {"kind": "any", "of": [NO_LEAF]}]}},
]

FAILS = [
    {"kind": "exists", **T2},
    {"kind": "exists", **NO},
    {"kind": "exists", **T1, "incarnation": 1},
    {"kind": "absent", **T1},
    {"kind": "absent", **T2},
    {"kind": "deleted", **T1},
    {"kind": "deleted", **NO},
    {"kind": "deleted", **T2, "incarnation": 2},
    {"kind": "field_equals", **T2, "field": "status", "value": "open"},
    {"kind": "field_equals", **NO, "field": "status", "value": "open"},
    field("field_equals", "status", value="open", incarnation=1),
    field("field_equals", "nothing", value="open"),
    field("field_equals", "paid", value=1),
    field("field_equals", "score", value=5.0),
    field("field_equals", "score", value="5"),
    field("field_equals", "labels", value=["urgent", "red"]),
    field("field_equals", "audit", value={"token": "tok_ffffffffffffffffffffffffffffffff"}),
    field("field_equals", "audit", value="tok_00112233445566778899aabbccddeeff"),
    field("field_in", "paid", values=[1, "true"]),
    field("field_at_least", "score", value=6),
    field("field_at_least", "paid", value=0),
    field("field_at_least", "note", value=0),
    field("field_at_most", "score", value=4),
    field("field_at_most", "status", value=4),
    field("refers_to", "owner", target="ben"),
    field("set_contains", "labels", value="blue"),
    field("set_contains", "status", value="open"),
    count("equals", 3),
    count("at_least", 2, {"field": "status", "equals": "open"}),
    count("at_most", 0, {"field": "status", "equals": "open"}),
    count("at_least", 1, {"field": "paid", "at_least": 0}),
    {"kind": "goal_version", "version": 1},
    {"kind": "all", "of": [YES_LEAF, NO_LEAF]},
    {"kind": "any", "of": [NO_LEAF, NO_LEAF]},
    {"kind": "not", "of": YES_LEAF},
]

MALFORMED = [
    ("text", "", "a predicate, an object"),
    ({}, "/kind", "one of: exists"),
    ({"kind": "some"}, "/kind", "one of: exists"),
    ({"kind": ["exists"]}, "/kind", "one of: exists"),
    ({"kind": "exists", "type": "ticket"}, "", "the key id"),
    ({"kind": "exists", **T1, "field": "x"}, "/field", "none but the keys"),
    ({"kind": "absent", **T1, "incarnation": 1}, "/incarnation", "none but the keys"),
    ({"kind": "exists", "type": 3, "id": "t-1"}, "/type", "an identifier"),
    ({"kind": "exists", **T1, "incarnation": 0}, "/incarnation", "an integer from 1"),
    ({"kind": "exists", **T1, "incarnation": True}, "/incarnation", "an integer from 1"),
    (field("field_in", "status", values=[]), "/values", "a list of at least one value"),
    (field("field_in", "status", values="open"), "/values", "a list of at least one value"),
    (field("field_at_least", "score", value="5"), "/value", "an integer"),
    (field("field_at_most", "score", value=True), "/value", "an integer"),
    (field("refers_to", "owner", target=None), "/target", "an identifier"),
    (count("more_than", 1), "/compare", "one of: at_least"),
    (count("equals", -1), "/count", "an integer from 0"),
    (count("equals", 1, {"field": "a"}), "/filter/0", "exactly one of"),
    (count("equals", 1, {"field": "a", "equals": 1, "in": [1]}), "/filter/0", "exactly one of"),
    (count("equals", 1, {"field": "a", "equals": 1, "more": 1}), "/filter/0", "exactly one of"),
    (count("equals", 1, {"field": "a", "equals": 1}, {"field": "a", "in": []}), "/filter/1/in", "at least one value"),
    (count("equals", 1, {"field": "a", "at_most": "1"}), "/filter/0/at_most", "an integer"),
    ({"kind": "goal_version", "version": "2"}, "/version", "an integer from 1"),
    ({"kind": "all", "of": []}, "/of", "at least one predicate"),
    ({"kind": "any", "of": YES_LEAF}, "/of", "at least one predicate"),
    ({"kind": "not", "of": [YES_LEAF]}, "/of", "a predicate, an object"),
    ({"kind": "any", "of": [YES_LEAF, {"kind": "not", "of": {"kind": "x"}}]}, "/of/1/of/kind", "one of: exists"),
]


class Predicates(unittest.TestCase):
    def test_what_holds(self):
        for predicate in HOLDS:
            self.assertIs(schema.holds(predicate, STATE), True, predicate)

    def test_what_does_not(self):
        for predicate in FAILS:
            self.assertIs(schema.holds(predicate, STATE), False, predicate)

    def test_each_kind_is_seen_both_ways(self):
        for cases in (HOLDS, FAILS):
            self.assertEqual({predicate["kind"] for predicate in cases}, set(schema._KEYS))

    def test_what_is_malformed(self):
        for predicate, at, expected in MALFORMED:
            with self.assertRaises(SchemaError, msg=predicate) as caught:
                schema.check_predicate(predicate, "/p")
            self.assertEqual(caught.exception.at, "/p" + at, predicate)
            self.assertIn("/p" + at + ": expected ", str(caught.exception))
            self.assertIn(expected, str(caught.exception))

    def test_leaves(self):
        one, two, three = ({"kind": "goal_version", "version": number} for number in (1, 2, 3))
        predicate = {"kind": "all", "of": [one, {"kind": "not", "of": {"kind": "any", "of": [two, three]}}]}
        self.assertEqual(list(schema.leaves(predicate)), [one, two, three])

    def test_equality_knows_kinds(self):
        values = [0, 0.0, False, "0", None, [], [0], [False], {}, {"a": 0}, {"a": False}, "", 1, True]
        for row, one in enumerate(values):
            for column, other in enumerate(values):
                self.assertIs(schema.equal(one, json.loads(json.dumps(other))), row == column, (one, other))


class States(unittest.TestCase):
    def test_the_sample(self):
        payload = launch.sample()
        held = schema.satisfied(payload)
        self.assertEqual(len(held), len(payload["goal_schema"]))
        self.assertEqual(schema.satisfied_fraction(payload), Fraction(sum(held), len(held)))
        self.assertEqual(schema.satisfied(Payload(payload)), held)
        self.assertEqual(schema.satisfied(payload, payload["terminal_state"]), held)
        self.assertTrue(0 < sum(held) < len(held))
        self.assertEqual(schema.satisfied_fraction({**payload, "goal_schema": []}), 0)

    def test_the_events_lead_to_the_terminal_state(self):
        payload = launch.sample()
        moments = schema.states(payload)
        self.assertEqual(len(moments), len(payload["events"]) + 1)
        self.assertEqual(plain(moments[-1]), payload["terminal_state"])
        self.assertEqual(plain(moments[0]), payload["initial_state"])

    def test_an_entity_that_comes_and_goes(self):
        made = {
            "type": "ticket",
            "id": "t-9",
            "diff": {
                "lifecycle": ["absent", "live"],
                "incarnation": [0, 1],
                "fields": {"status": [None, "open"]},
            },
        }
        first = StateView.of(STATE)
        second = first.after(made)
        third = second.after({"type": "ticket", "id": "t-9", "diff": {"lifecycle": ["live", "deleted"]}})
        fourth = third.after({"diff": {"goal": [2, 3]}})
        self.assertIsNone(first.entity("ticket", "t-9"))
        self.assertTrue(second.entity("ticket", "t-9").is_live)
        self.assertEqual(third.entity("ticket", "t-9").fields, {"status": "open"})
        self.assertFalse(third.entity("ticket", "t-9").is_live)
        self.assertEqual((third.goal_version, fourth.goal_version), (2, 3))
        self.assertEqual(len(fourth.entities("ticket")), 4)
        self.assertEqual(fourth.entities("staff"), [])
        self.assertEqual(first.after(made, "", ["status", "note"]).entity("ticket", "t-9").fields["note"], None)
        self.assertEqual(repr(third.entity("ticket", "t-9")), "<ticket t-9, deleted>")

    def test_what_is_no_payload(self):
        payload = launch.sample()
        cases = [
            ({}, "(the whole): expected the key terminal_state"),
            ({**payload, "terminal_state": 3}, "/terminal_state: expected an object, found 3"),
            ({**payload, "terminal_state": {"entities": 3}}, "/terminal_state/entities: expected a list"),
            ({**payload, "terminal_state": {"entities": [{}]}}, "/terminal_state/entities/0: expected the key type"),
            ({**payload, "goal_schema": [{"id": "x"}]}, "/goal_schema/0: expected the key predicate"),
            ({**payload, "goal_schema": [{"predicate": {"kind": "x"}}]}, "/goal_schema/0/predicate/kind: expected one of"),
        ]
        for broken, message in cases:
            with self.assertRaises(SchemaError) as caught:
                schema.satisfied(broken)
            self.assertIn(message, str(caught.exception))
        broken = launch.sample()
        broken["events"][1]["diff"] = {"fields": {"a": [1]}}
        with self.assertRaises(SchemaError) as caught:
            schema.states(broken)
        self.assertEqual(caught.exception.at, "/events/1/diff/fields/a")


def plain(state):
    """A state as a payload writes it."""
    entities = [
        {name: getattr(entity, name) for name in ("type", "id", "incarnation", "lifecycle", "fields")}
        for entity in state.entities()
    ]
    return {
        "goal_version": state.goal_version,
        "entities": sorted(entities, key=lambda entity: (entity["type"], entity["id"])),
    }


if __name__ == "__main__":
    unittest.main()
