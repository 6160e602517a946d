"""AgentBoard's progress rate: the best moment so far.

    parthack stress exec:'python3 examples/published/agentboard_progress.py'

Published rule. Chang Ma et al., "AgentBoard: An Analytical Evaluation Board of Multi-turn LLM Agents", NeurIPS 2024 Datasets
and Benchmarks, arXiv 2401.13178, the definition of the progress rate. With s_i the state after round i, the progress rate at
round t is

    r_t = max over 0 <= i <= t of f(s_i, g)                        f in [0, 1]: how well a state matches the goal
    r_t = max over 0 <= i <= t of (1/K) * sum over k of f(s_i, g_k)   f in {0, 1}: with K subgoals

and the benchmark reports r at the last round.

Mapping. The second form is used: the K subgoals are the predicates of the public goal schema, with equal weight, as the
paper weighs its subgoals. s_0 is the state that the agent finds, s_i the state after its i-th step and all that other actors
did in answer.

Where the mapping chooses. (1) AgentBoard's subgoals were written by annotators; the goal schema's predicates are final
conditions, and no intermediate subgoal stands among them. (2) A predicate made of several parts stays one subgoal.
(3) States between an agent's step and the last answer to it are not looked at, for a round ends with the answer. (4) Subgoals
are of the active goal version, also on states before a revision of the goal.

Apart from (3) this is the built-in rule `historical-milestone`.
"""

from parthack import Payload, Score, evaluator, serve
from parthack.schema import satisfied_fraction
from trajectory import turn_states


@evaluator(name="agentboard-progress", version="1")
def progress_rate(payload: Payload) -> Score:
    matches = [satisfied_fraction(payload, state) for state in turn_states(payload)]
    best = max(matches)
    return Score(best, detail={"best_turn": matches.index(best), "last": str(matches[-1])})


if __name__ == "__main__":
    serve()
