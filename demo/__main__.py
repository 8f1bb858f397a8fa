"""What Bayou does today, on this machine, with nothing but what `make` installed: `make demo` runs this."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bayou.config import urls
from bayou.testing.servers import ministack
from demo import buckets, bulk, existing, recording, sharing, stores
from demo.show import say, title


def main() -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bayou-demo-") as scratch:
        title("Record and ask")
        recording.tour(Path(scratch, "repo"))

        title("A folder as an object store")
        folder = Path(scratch, "store")
        folder.mkdir()
        asyncio.run(stores.tour(urls.parse(str(folder))))

        title("The same on a real S3 server")
        with s3_bucket() as url:
            say(f"the server is up; the place is {url}")
            asyncio.run(stores.tour(urls.parse(url)))
            title("When the network loses answers")
            asyncio.run(buckets.lost_answers(urls.parse(url)))
            title("A file of 128 MiB")
            asyncio.run(buckets.large_file(urls.parse(url), Path(scratch)))
            title("Two repos share a bucket")
            sharing.tour(Path(scratch), url.replace("/demo?", "/team?"))
            title("A bucket that an existing client wrote")
            asyncio.run(existing.tour(urls.parse(url)))
            title("All of that bucket, on Spark")
            bulk.tour(url, Path(scratch))
        say("the server is stopped")
    title(f"Done in {time.perf_counter() - started:.0f} s")


@contextmanager
def s3_bucket() -> Iterator[str]:
    """Start a server, and give the URL of an empty bucket; credentials are where a user has them."""
    with ministack() as server:
        os.environ["AWS_ACCESS_KEY_ID"] = server.settings["access_key_id"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = server.settings["secret_access_key"]
        yield f"s3://{server.new_bucket()}/demo?endpoint={server.endpoint}&path_style=true&region=us-east-1"


if __name__ == "__main__":
    main()
