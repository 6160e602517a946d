"""Evaluators of tool-agent trajectories for `parthack`, in a few lines of Python.

    from parthack import evaluator, serve

    @evaluator
    def applied_steps(payload):
        agent = [entry for entry in payload["transcript"] if entry["actor"] == "agent"]
        return sum(entry["result"] == "applied" for entry in agent) / max(1, len(agent))

    serve()

See `parthack.schema` for the goal's predicates, `parthack.pointers` for citations and `parthack.inspect` for scorers of
Inspect.
"""

from .declaration import DeclarationError, Evaluator, evaluator
from .payload import Payload
from .protocol import PayloadError, score_file, serve
from .verdict import NoVerdict, Score

__version__ = "0.1.0"

__all__ = [
    "DeclarationError",
    "Evaluator",
    "NoVerdict",
    "Payload",
    "PayloadError",
    "Score",
    "evaluator",
    "score_file",
    "serve",
]
