"""Which names and texts may be credentials, and so are neither read from a configuration nor repeated in a message."""

import re
from urllib.parse import unquote

BLANK = "***"

# A name that says that its value is a credential.
_CREDENTIAL = re.compile(
    r"secret|passw|pwd$|token|credential|signature|authorization|cookie|access_?key|account_?key|api[-_]?key|private_?key|^sas|^sig$",
    re.IGNORECASE,
)


def names_credential(name: str) -> bool:
    return _CREDENTIAL.search(name) is not None


def has_userinfo(address: str) -> bool:
    """Tell whether something stands before an `@`, as a user name and a password do, percent-encoded or not."""
    return "@" in unquote(address)
