"""What the servers that speak S3 have in common: one form of settings, and how a bucket is made."""

from datetime import timedelta

import obstore
from obstore.store import S3Store

from bayou.testing.servers.process import must_succeed, status_of
from bayou.testing.servers.server import Server

ACCESS_KEY_ID = "bayou-test"
SECRET_ACCESS_KEY = "bayou-test-secret"
REGION = "us-east-1"
# How servers learn whom to let in, where they do not take it from the command line.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY}


def s3_server(name: str, endpoint: str, *, conditional: bool) -> Server:
    """Describe a server that speaks S3 at this endpoint with the made-up credentials above."""
    settings = {
        "endpoint": endpoint,
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "region": REGION,
    }

    def create_bucket(bucket: str) -> None:
        # obstore makes no buckets, but it signs: a PUT of the empty key of a bucket is the request that creates it.
        store = S3Store(
            bucket,
            endpoint=endpoint,
            access_key_id=ACCESS_KEY_ID,
            secret_access_key=SECRET_ACCESS_KEY,
            region=REGION,
            client_options={"allow_http": True},
        )
        url = obstore.sign(store, "PUT", "", timedelta(minutes=5))
        must_succeed(status_of("PUT", url), f"creating bucket {bucket} at {name}")

    return Server(name, "s3", endpoint, conditional, settings, create_bucket)
