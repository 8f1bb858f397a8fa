"""Output records, `outputs/**/*.yaml`: one execution of a method each (repository spec 3.1)."""

from typing import Final

import msgspec

from bayou.domain.outputs import Output
from bayou.errors import Corrupt
from bayou.wire import yamlmapping
from bayou.wire.documents import problem

_NOUN: Final = "an output record"


def decode(data: bytes, where: str) -> Output:
    """Ask for no more than a status: that is all that some files say."""
    document = yamlmapping.decode(data, where, _NOUN)
    provenance = document.get("provenance")
    if isinstance(provenance, dict) and isinstance(provenance.get("modelVersion"), int | float):
        document["provenance"] = provenance | {"modelVersion": str(provenance["modelVersion"])}  # as old files have it
    try:
        return msgspec.convert(document, Output)
    except msgspec.ValidationError as error:
        raise Corrupt(where, expected=_NOUN, found=f"YAML of another shape ({problem(error)})") from None


def encode(output: Output) -> bytes:
    """In the order of the fields; what is absent is left out."""
    document = msgspec.to_builtins(output)
    document["provenance"] = _present(document["provenance"])
    return yamlmapping.encode(_present(document), _NOUN)


def _present(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value is not None}
