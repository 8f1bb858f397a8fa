"""Where everything lives: pure functions between names and paths, in both directions, for both tiers.

A path here is relative to its namespace, with `/` between segments. `keys` puts the namespace in front of it,
`meanings` reads a path back, `safety` says which text is a path at all.
"""
