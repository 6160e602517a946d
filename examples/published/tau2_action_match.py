"""tau2-bench's action check: the share of gold actions that the agent called, with the check of the database.

    parthack stress exec:'python3 examples/published/tau2_action_match.py'

Published rule. Victor Barres et al., "tau2-Bench: Evaluating Conversational Agents in a Dual-Control Environment",
arXiv 2506.07982, after Shunyu Yao et al., "tau-bench", arXiv 2406.12045; as the benchmark's own page on evaluation states it
(`docs/evaluation.md` of sierra-research/tau2-bench). A gold action is matched if any call of the agent, at any time, has its name and its
compared arguments. The database check wants the final database to equal the one that the gold actions lead to. The
official reward is a product of such checks, 0 or 1, and in most domains the gold actions are not one of them; the share
of matched actions is what the tool shows beside it as the partial action reward. It is that share which is stressed here.

Mapping. The score is 1 if the database check passes, else the share of gold actions matched. Database check: all predicates of
the public goal schema hold at the end. Gold actions come from the schema, one for each entity in each predicate's conjuncts that
don't hold at first: `update` or `create` of that entity with arguments that meet the conditions on its fields, or its `restore`
where the fields that it had at first meet them; `create` or `restore` for `exists`, `delete` for `deleted`, `revise_goal` for
`goal_version`. Compared arguments: type, id and the fields in the conditions. A call counts whatever came of it, refused ones too: the check reads calls, not results.

Where the mapping chooses. (1) The benchmark's gold actions are a recorded solution; these are read off the goal, so there are no look-ups
among them, and where a bound or a choice is wanted any argument within it matches. (2) Conditions that no one call
fulfils (a `count`, a prohibition) have no gold action; the database check alone sees them. (3) A goal that other actors
have to fulfil has a gold action too, for the schema doesn't say whose work it is; the agent can't match it. (4) tau2's check of what
is communicated has no counterpart.
"""

from fractions import Fraction
from typing import Any, Dict, List, Mapping, Tuple

from parthack import Payload, Score, evaluator, serve
from parthack.schema import EntityView, StateView, goal_predicates, holds, leaves, satisfied
from trajectory import conjuncts

Predicate = Mapping[str, Any]
Subject = Tuple[Tuple[str, str], ...]
NOTHING = StateView(0, {})
WRITES = {"exists": ("create", "restore"), "deleted": ("delete",), "goal_version": ("revise_goal",)}
OTHERWISE = ("update", "create", "restore")
"""The operations that bring about each kind of condition, and those for any other kind."""


def subject_of(condition: Predicate) -> Subject:
    """The entities that a condition is about; none for the goal version."""
    return tuple(sorted({(leaf["type"], leaf.get("id", "")) for leaf in leaves(condition) if "type" in leaf}))


def gold_actions(payload: Payload) -> List[Predicate]:
    """What the arguments of each gold action must meet."""
    start = StateView.of(payload["initial_state"])
    gold = []
    for predicate in goal_predicates(payload):
        groups: Dict[Subject, List[Predicate]] = {}
        for part in conjuncts(predicate):
            groups.setdefault(subject_of(part), []).append(part)
        for parts in groups.values():
            action = {"kind": "all", "of": parts}
            is_counted = any(leaf["kind"] == "count" for leaf in leaves(action))
            # What holds where there is nothing is a prohibition.
            if not is_counted and not holds(action, start) and not holds(action, NOTHING):
                gold.append(action)
    return gold


def asked_for(step: Mapping[str, Any], start: StateView) -> StateView:
    """What a call by itself asks for: the one entity with the arguments as its fields; those it had, if it is restored."""
    if "id" not in step:
        return StateView(step.get("version", 0), {})
    known = start.entity(step["type"], step["id"])
    incarnation = known.incarnation if known else 0
    if step["op"] == "create":
        incarnation += 1
    lifecycle = "deleted" if step["op"] == "delete" else "live"
    fields = known.fields if known and step["op"] == "restore" else step.get("fields", {})
    entity = EntityView(step["type"], step["id"], lifecycle, incarnation, dict(fields))
    return StateView(0, {(entity.type, entity.id): entity})


def matches(step: Mapping[str, Any], action: Predicate, start: StateView) -> bool:
    """Whether a call has a gold action's name and compared arguments."""
    names = {name for leaf in leaves(action) for name in WRITES.get(leaf["kind"], OTHERWISE)}
    return step["op"] in names and holds(action, asked_for(step, start))


@evaluator(name="tau2-action-match", version="1")
def partial_action_reward(payload: Payload) -> Score:
    start = StateView.of(payload["initial_state"])
    calls = [entry["step"] for entry in payload["transcript"] if entry["actor"] == "agent"]
    matched = [any(matches(step, action, start) for step in calls) for action in gold_actions(payload)]
    database = all(satisfied(payload))
    detail = {"database": database, "matched": matched}
    if database or not matched:
        return Score(int(database), detail)
    return Score(Fraction(sum(matched), len(matched)), detail)


if __name__ == "__main__":
    serve()
