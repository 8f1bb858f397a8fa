"""The tables of the journal. Every path in them is relative to the cache, in whatever namespace it is."""

from typing import Final

APPLICATION: Final = 0x62796A31
VERSION: Final = 1

EVERYTHING: Final = ""
"""The path of a mark that says that anything may have changed: a full walk."""

TABLES: Final = """
CREATE TABLE fact(name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- What may have changed since it was last shipped. `sequence` is new at every touch, so that whoever acknowledges sees
-- that somebody touched it since. A scan that starts before `settles` (monotonic ns) does not end the mark. `since`
-- (wall ns) is when the first of the changes can have been made.
CREATE TABLE dirty(path TEXT PRIMARY KEY, sequence INTEGER NOT NULL, since INTEGER NOT NULL, settles INTEGER NOT NULL,
  bare INTEGER NOT NULL, removed INTEGER NOT NULL, lingering INTEGER NOT NULL) WITHOUT ROWID;
-- Changes that are being made, and by whom.
CREATE TABLE open(id INTEGER PRIMARY KEY, path TEXT NOT NULL, owner TEXT NOT NULL, since INTEGER NOT NULL,
  kind INTEGER NOT NULL);
CREATE INDEX open_path ON open(path);

-- The other sides that this cache was ever synced with, and which one a namespace is bound to.
CREATE TABLE side(id INTEGER PRIMARY KEY, store TEXT NOT NULL, prefix TEXT NOT NULL, namespace TEXT NOT NULL,
  as_of TEXT NOT NULL, UNIQUE(store, prefix, namespace));
CREATE TABLE bound(namespace TEXT PRIMARY KEY, side INTEGER NOT NULL) WITHOUT ROWID;
-- Without content: wanted here, but not known to both sides yet. `version` is what the store called this content when
-- it was last seen there, if anybody did.
CREATE TABLE base(side INTEGER NOT NULL, path TEXT NOT NULL, content BLOB, here INTEGER NOT NULL,
  wanted INTEGER NOT NULL, version TEXT, PRIMARY KEY(side, path)) WITHOUT ROWID;
CREATE INDEX base_absent ON base(side, path) WHERE here = 0;
CREATE TABLE intent(side INTEGER NOT NULL, path TEXT NOT NULL, content BLOB NOT NULL,
  PRIMARY KEY(side, path)) WITHOUT ROWID;
CREATE TABLE note(side INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(side, name)) WITHOUT ROWID;

CREATE TABLE stat(path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE change(path TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX change_sequence ON change(sequence);
CREATE TABLE outcome(work TEXT PRIMARY KEY, finished_at TEXT NOT NULL, outcome BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE conflict(path TEXT PRIMARY KEY, conflict BLOB NOT NULL) WITHOUT ROWID;
"""

COUNT: Final = TABLES.count("CREATE TABLE")
