"""What becomes of a unit that both sides changed, by kind of path: pure functions from values to one resolution.

A merge never touches the remote. It is an edit of the local replica and of its base, after which the next diff finds
only pushes and pulls. So a merge that a crash cut in half is just another local state, and a lost commit race costs a
diff. Merges are applied before anything else of their plan, markers after everything else.
"""
