"""Jobs: what is about all of a datastore. Each has a plan, which says what it will do, and a run, which does it."""
