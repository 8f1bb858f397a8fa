"""The tree: the files of one repo's datastore on this machine, in both tiers, and the one way to change them."""

from bayou.tree.change import Change
from bayou.tree.marks import UNMARKED, Marks
from bayou.tree.tree import Tree
from bayou.tree.writing import Writing, Written

__all__ = ["UNMARKED", "Change", "Marks", "Tree", "Writing", "Written"]
