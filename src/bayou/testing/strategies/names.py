"""Names: what people and programs call types, models, data and namespaces.

The strategies are cached, since Hypothesis validates each new object again, which costs more than to draw from it.
"""

from functools import cache

from hypothesis import strategies as st

from bayou.domain.models import Model
from bayou.domain.modeltypes import WHITESPACE, ModelType
from bayou.domain.names import check_data_name, check_model_name
from bayou.errors import UsageError

# What may stand in a segment of a path: any script, emoji, combining marks, blanks, but no controls.
SEGMENT_CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cn"), exclude_characters="/\\")

_ORDINARY = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=12)
_SEPARATORS = st.sampled_from(["/", "::", ".", " ", "//", " :: ", *WHITESPACE])


@cache
def namespaces(*, solo: bool = True) -> st.SearchStrategy[str]:
    """Slugs, and the solo namespace unless told otherwise."""
    slugs = st.from_regex(r"[a-z0-9](?:[a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
    return st.just("") | slugs if solo else slugs


@cache
def raw_model_types() -> st.SearchStrategy[str]:
    """Types as somebody may write them: any case, any separator, blanks around them."""
    segment = st.text(st.sampled_from("aBcXyZ09@-_:\\\u0130\u03a3\u00df"), min_size=1, max_size=6) | _ORDINARY
    joined = st.tuples(segment, st.lists(st.tuples(_SEPARATORS, segment), max_size=4)).map(
        lambda parts: parts[0] + "".join(separator + text for separator, text in parts[1])
    )
    padding = st.text(st.sampled_from(WHITESPACE), max_size=2)
    return st.tuples(padding, joined, padding).map("".join).filter(_is_type)


@cache
def model_types() -> st.SearchStrategy[ModelType]:
    """Types with normalised text, safe to make paths of."""
    segment = _ORDINARY | st.text(SEGMENT_CHARACTERS, min_size=1, max_size=6)
    scope = st.sampled_from(["", "@"])
    text = st.tuples(scope, st.lists(segment, min_size=1, max_size=4).map("/".join)).map("".join)
    return text.filter(_is_type).map(lambda raw: ModelType(ModelType(raw).normalised))


@cache
def model_ids() -> st.SearchStrategy[str]:
    return st.uuids().map(str)


@cache
def model_names() -> st.SearchStrategy[str]:
    return _ORDINARY | st.text(SEGMENT_CHARACTERS, min_size=1, max_size=12).filter(_is_model_name)


@cache
def models() -> st.SearchStrategy[Model]:
    return st.builds(Model, model_types(), model_ids(), model_names())


@cache
def data_names() -> st.SearchStrategy[str]:
    """All that data may be called: numbers, dots and blanks, any script."""
    numeric = st.integers(0, 10**6).map(str)
    # Filtered as a whole: Hypothesis also tries texts that it finds in the code under test, such as `latest`.
    return (_ORDINARY | numeric | st.text(SEGMENT_CHARACTERS, min_size=1, max_size=20)).filter(_is_data_name)


def _is_type(raw: str) -> bool:
    try:
        ModelType(raw)
    except UsageError:
        return False
    return True


def _is_model_name(name: str) -> bool:
    try:
        check_model_name(name)
    except UsageError:
        return False
    return True


def _is_data_name(name: str) -> bool:
    try:
        check_data_name(name)
    except UsageError:
        return False
    return True
