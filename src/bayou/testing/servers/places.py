"""Where a bucket of a server is, as a user would configure it."""

from collections.abc import Callable

from bayou.config.locations import GCS, S3, Azure, Location
from bayou.testing.servers.server import Server


def new_place(server: Server, set_variable: Callable[[str, str], None], prefix: str = "") -> Location:
    """A new bucket. Credentials go where Bayou looks for them: into variables of the environment."""
    name, settings = server.new_bucket(), server.settings
    match server.kind:
        case "s3":
            set_variable("AWS_ACCESS_KEY_ID", settings["access_key_id"])
            set_variable("AWS_SECRET_ACCESS_KEY", settings["secret_access_key"])
            return S3(name, prefix, region=settings["region"], endpoint=server.endpoint, path_style=True)
        case "gcs":
            return GCS(name, prefix, endpoint=server.endpoint)
        case "azure":
            set_variable("AZURE_STORAGE_ACCOUNT_KEY", settings["account_key"])
            return Azure(name, prefix, account=settings["account_name"], endpoint=settings["endpoint"])
