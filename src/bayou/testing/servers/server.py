"""A running server, as a test sees it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal
from uuid import uuid4

Kind = Literal["s3", "gcs", "azure"]


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server listens, how to get in, and what may be expected of it.

    `settings` are arguments for obstore's store of that kind, beside the bucket and `client_options` that allow HTTP:

    - s3: `endpoint`, `access_key_id`, `secret_access_key`, `region`
    - gcs: `service_account_key`, a JSON document that names the endpoint and asks for no token
    - azure: `endpoint`, `account_name`, `account_key`
    """

    name: str
    kind: Kind
    endpoint: str
    conditional: bool  # False: it accepts conditional writes, and overwrites all the same
    settings: Mapping[str, str]
    create_bucket: Callable[[str], None] = field(repr=False)

    def new_bucket(self) -> str:
        """Create an empty bucket (Azure: a container) and give its name. One for each test keeps tests apart."""
        name = f"test-{uuid4().hex}"
        self.create_bucket(name)
        return name
