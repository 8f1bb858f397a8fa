"""What sync talks to: an object bucket and the formats of its index.

`remote.ObjectRemote` is the front. Behind it one module for each thing that happens to an index: `looking` (in which
state it is), `loading` (what it lists), `committing` with `dual` and `sharded` (changes of it), `migration` and
`rebuilding`. `cache` remembers parts of an index on this machine, by the version of the object that delivered them. Why
the protocol is as it is, and what was tried against it, is told in design/007.
"""

from bayou.remotes.changes import Change, Changeset, Commit, Contest
from bayou.remotes.looking import Format, Head
from bayou.remotes.remote import ObjectRemote
from bayou.remotes.snapshot import Snapshot

__all__ = ["Change", "Changeset", "Commit", "Contest", "Format", "Head", "ObjectRemote", "Snapshot"]
