# Run it: parthack stress exec:'python3 examples/python/ten_lines.py'
# It scores the best moment of a trajectory: how much of the goal held at once, at any time.
from parthack import evaluator, serve
from parthack.schema import satisfied_fraction, states

@evaluator(version="1")
def best_moment(payload):
    return max(satisfied_fraction(payload, state) for state in states(payload))

serve()
