"""What a query should tell besides its results: keys that nothing has, and what could not be decided."""

from collections.abc import Iterator

from bayou.catalog import Catalog
from bayou.domain.suggestions import suggestion
from bayou.query.fields import TAGS
from bayou.query.paths import keys
from bayou.query.planning import Plan
from bayou.query.reach import LARGEST
from bayou.query.running import Found


def notices(plan: Plan, catalog: Catalog, found: Found) -> Iterator[str]:
    if found.undecided:
        what = "1 row" if found.undecided == 1 else f"{found.undecided} rows"
        yield (
            f"{what} could not be decided, because the content is not on this machine, or is larger than "
            f"{LARGEST >> 20} MiB"
        )
    for message, failure in found.failures.items():
        what = "1 row" if failure.count == 1 else f"{failure.count} rows"
        yield f"{what} left out: {message} (for example {failure.example})"
    if unusable := len(catalog.problems()):
        what = "1 version is" if unusable == 1 else f"{unusable} versions are"
        yield f"{what} in no answer, as nobody can read what is said of them: `bayou status` names them"
    if not found.rows:
        yield from _unknown_keys(plan, catalog)


def _unknown_keys(plan: Plan, catalog: Catalog) -> Iterator[str]:
    """A key that is missing is no error. One that nothing at all has may be a mistake."""
    paths = [path for condition in plan.conditions for path in keys(condition.evaluated.tree)]
    for root in dict.fromkeys(path.root for path in paths):
        known = catalog.tag_keys() if root == TAGS else catalog.attribute_keys()
        for key in dict.fromkeys(path.key for path in paths if path.root == root):
            if key not in known:
                yield f"no artifact has {root}.{key}{suggestion(key, known)}{_reservation(root, catalog)}"


def _reservation(root: str, catalog: Catalog) -> str:
    """Attributes are not all known."""
    if root == TAGS:
        return ""
    unknown = next(catalog.select("attributes_known = 0", columns=("1",), limit=1), None)
    return "" if unknown is None else " (as far as is known: not all content is on this machine or indexed)"
