"""Names: of data, of models, and of one thing that varies. Each is one segment of a path, or must fit into one."""

import re
from collections.abc import Iterable

from bayou.domain.modeltypes import WHITESPACE
from bayou.errors import ErrorKind, UsageError

# The limit of every common file system; it counts bytes, not characters.
MAX_SEGMENT_BYTES = 255

CONTROL_CHARACTER = r"[\x00-\x1f\x7f-\x9f]"
HALF_CHARACTER = r"[\ud800-\udfff]"
"""What a Windows file name can hold and UTF-8 cannot."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

# They stand beside the names of data, in the folder of a name or of a model (repository spec 1.3, 1.4). In any letter
# case, for the sake of disks that know none.
_RESERVED = frozenset({"latest", ".lock"})
_RELATIVE = frozenset({".", ".."})


def is_uuid(text: str) -> bool:
    """Whether this is a UUID as the existing clients write it: lower case, with dashes."""
    return _UUID.fullmatch(text) is not None


def check_data_name(name: str) -> str:
    """The name, when data may be called that (repository spec 1.3).

    Stricter than existing clients are where no disk could hold it, and about control characters, on which terminals
    act: what they called so is skipped and reported, not pulled.
    """
    return _checked("data name", name, _data_name_fault(name))


def check_model_name(name: str) -> str:
    """The name, when a model may be called that: not blank, and without `/`, which ends the type in `TYPE/NAME`."""
    return _checked("model name", name, _model_name_fault(name))


def check_id(text: str) -> str:
    """The id of a model, workflow or run: a UUID as a rule, but any name that is one segment of a path will do."""
    return _checked("id", text, _segment_fault(text))


def check_type_folder(text: str) -> str:
    """One folder of a type. Types that cannot be folders exist as text: existing clients refuse none of them."""
    return _checked("folder of a model type", text, _segment_fault(text))


def vary_name(base: str, values: Iterable[str] = ()) -> str:
    """`base-v1-v2`: one name for each combination of what varies (repository spec 2.1)."""
    parts = (_checked("part of a varying name", part, _part_fault(part)) for part in (base, *values))
    return check_data_name("-".join(parts))


def _data_name_fault(name: str) -> str | None:
    if ".." in name:
        return "it contains '..'"
    if name.lower() in _RESERVED:
        return "it is reserved"
    return _segment_fault(name)


def _model_name_fault(name: str) -> str | None:
    if not name.strip(WHITESPACE):
        return "it is blank"
    if "/" in name:
        return "it contains '/'"
    return _text_fault(name)


def _part_fault(part: str) -> str | None:
    if not part.strip(WHITESPACE):
        return "it is blank"
    if "/" in part or "\\" in part:
        return "it contains a slash or a backslash"
    return "it is a relative path" if part in _RELATIVE else None


def _segment_fault(text: str) -> str | None:
    """Why this cannot be one segment of a path, or None."""
    if not text:
        return "it is empty"
    if text in _RELATIVE:
        return "it is a relative path"
    if "/" in text or "\\" in text:
        return "it contains a slash or a backslash"
    fault = _text_fault(text)
    if fault is None and (size := len(text.encode())) > MAX_SEGMENT_BYTES:
        return f"it takes {size} bytes; {MAX_SEGMENT_BYTES} is the most"
    return fault


def _text_fault(text: str) -> str | None:
    if text.isprintable():  # as nearly all names are; what is not may still be allowed
        return None
    if re.search(CONTROL_CHARACTER, text):
        return "it contains a control character"
    return "it is not valid Unicode" if re.search(HALF_CHARACTER, text) else None


def _checked(what: str, text: str, fault: str | None) -> str:
    if fault is not None:
        raise UsageError(
            f"{text!r} is not a {what}: {fault}",
            kind=ErrorKind.INVALID_NAME,
            remedy="Choose another name: letters, digits, '-', '_' and single dots always work.",
        )
    return text
