"""Random choices with weights."""


def choose(rng, *choices):
    """Calls one of the functions, each of which comes after its weight, and returns what it returns."""
    weights, functions = zip(*choices)
    [function] = rng.choices(functions, weights)
    return function()
