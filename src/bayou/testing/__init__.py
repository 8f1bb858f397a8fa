"""The testing kit: for Bayou's own tests, and for everybody who writes a store for it.

- `contract`: the suite that any store passes or fails
- `memory`: the contract as the simplest possible program, to compare others with
- `faults`, `latency`, `throttle`: stores that misbehave on purpose
- `servers`: real servers, started and stopped
- `strategies`: Hypothesis strategies for names, paths, trees, indexes
"""
