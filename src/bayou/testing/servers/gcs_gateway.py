"""The part of Google's XML API that obstore speaks, in front of fake-gcs-server, whose JSON API is the better half.

fake-gcs-server refuses XML writes and checks a precondition only on JSON multipart uploads, so each write becomes one
of those. What it leaves out (conditional reads, listing from an offset) is answered here. This is how we read Google's
documentation, not Google's behaviour: a test that passes here still wants one run against the real thing.

Run as a script: `python -m bayou.testing.servers.gcs_gateway --upstream http://127.0.0.1:4443 --port 4444`.
"""

import argparse
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote
from uuid import uuid4
from xml.etree import ElementTree as ET

from aiohttp import ClientSession, TCPConnector, web
from yarl import URL

LARGEST_BODY = 1 << 30
BINARY = "application/octet-stream"
_PASSED_ON = ("Content-Type", "Content-Length", "Content-Range", "ETag", "Last-Modified", "X-Goog-Generation")


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart upload under way: Google shows nothing of it before it is complete, so neither do we."""

    content_type: str
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Translates one request at a time; remembers nothing but the uploads under way."""

    upstream: str
    session: ClientSession
    uploads: dict[str, Upload] = field(default_factory=dict)

    async def handle(self, request: web.Request) -> web.Response:  # noqa: PLR0911 - one for each call
        """Find out which call of the XML API this is."""
        # The path as it was sent: obstore encodes the slashes of a name, and others do not.
        path = unquote(request.raw_path.partition("?")[0])
        bucket, _, name = path[1:].partition("/")
        upload_id = request.query.get("uploadId")
        source = request.headers.get("x-goog-copy-source")
        match request.method:
            case "GET" if not name:
                return await self.list_page(bucket, request.query)
            case "GET" | "HEAD" if name:
                return await self.read(bucket, name, request)
            case "PUT" if upload_id:
                return await self.add_part(upload_id, int(request.query["partNumber"]), await request.read())
            case "PUT" if source:
                return await self.copy(unquote(source).lstrip("/"), bucket, name, request.headers)
            case "PUT" if name:
                content_type = request.headers.get("Content-Type", BINARY)
                return await self.write(bucket, name, await request.read(), content_type, request.headers)
            case "POST" if "uploads" in request.query:
                return self.begin_upload(bucket, name, request.headers.get("Content-Type", BINARY))
            case "POST" if upload_id:
                return await self.complete_upload(upload_id, bucket, name, await request.read(), request.headers)
            case "DELETE" if upload_id:
                self.uploads.pop(upload_id, None)
                return web.Response(status=204)
            case "DELETE" if name:
                return await self.delete(bucket, name)
            case _:
                return failure(400, "InvalidURI")

    def object_url(self, bucket: str, name: str) -> str:
        """The JSON API's address of an object."""
        return f"{self.upstream}/storage/v1/b/{bucket}/o/{quote(name, safe='')}"

    async def read(self, bucket: str, name: str, request: web.Request) -> web.Response:
        """GET and HEAD: whole or a range, any generation or a named one, with the conditions that upstream ignores."""
        wanted = {"alt": "media"}
        if "generation" in request.query:
            wanted["generation"] = request.query["generation"]
        url = URL(self.object_url(bucket, name), encoded=True).with_query(wanted)
        headers = {"Range": request.headers["Range"]} if "Range" in request.headers else {}
        async with self.session.request(request.method, url, headers=headers) as answer:
            body = await answer.read()
        if answer.status == 404:
            return failure(404, "NoSuchKey")
        found = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
        etag = found.get("ETag", "")
        if "If-Match" in request.headers and not names(request.headers["If-Match"], etag):
            return failure(412, "PreconditionFailed")
        if "If-None-Match" in request.headers and names(request.headers["If-None-Match"], etag):
            return web.Response(status=304, headers={"ETag": etag})
        return web.Response(status=answer.status, body=body or None, headers=found)

    async def write(
        self, bucket: str, name: str, body: bytes, content_type: str, headers: Mapping[str, str]
    ) -> web.Response:
        """PUT, also as the last step of a copy or an upload: one JSON multipart request, conditional if asked."""
        query = {"uploadType": "multipart", "name": name}
        if "x-goog-if-generation-match" in headers:
            query["ifGenerationMatch"] = headers["x-goog-if-generation-match"]
        boundary = uuid4().hex
        described = json.dumps({"name": name, "contentType": content_type})
        head = f"--{boundary}\r\nContent-Type: application/json\r\n\r\n{described}\r\n--{boundary}\r\n"
        head += f"Content-Type: {content_type}\r\n\r\n"
        async with self.session.post(
            URL(f"{self.upstream}/upload/storage/v1/b/{bucket}/o").with_query(query),
            data=head.encode() + body + f"\r\n--{boundary}--\r\n".encode(),
            headers={"Content-Type": f"multipart/related; boundary={boundary}"},
        ) as answer:
            if answer.status != 200:
                code = {404: "NoSuchBucket", 412: "PreconditionFailed"}.get(answer.status, await answer.text())
                return failure(answer.status, code)
            stored = await answer.json()
        return web.Response(headers={"ETag": f'"{stored["etag"]}"', "x-goog-generation": stored["generation"]})

    async def copy(self, source: str, bucket: str, name: str, headers: Mapping[str, str]) -> web.Response:
        """Read and write again: upstream's own copy ignores preconditions."""
        source_bucket, _, source_name = source.partition("/")
        url = URL(self.object_url(source_bucket, source_name), encoded=True).with_query(alt="media")
        async with self.session.get(url) as answer:
            if answer.status != 200:
                return failure(answer.status, "NoSuchKey")
            body, content_type = await answer.read(), answer.headers.get("Content-Type", BINARY)
        written = await self.write(bucket, name, body, content_type, headers)
        return with_document(written, "CopyObjectResult", ETag=written.headers.get("ETag", ""))

    async def delete(self, bucket: str, name: str) -> web.Response:
        """Unconditional, as every delete of ours is."""
        async with self.session.delete(URL(self.object_url(bucket, name), encoded=True)) as answer:
            return web.Response(status=204) if answer.status < 300 else failure(answer.status, "NoSuchKey")

    async def list_page(self, bucket: str, query: Mapping[str, str]) -> web.Response:
        """One page, version 2 of the listing: the JSON page in XML words."""
        wanted = {
            json_name: query[xml_name]
            for xml_name, json_name in (
                ("prefix", "prefix"),
                ("delimiter", "delimiter"),
                ("max-keys", "maxResults"),
                ("continuation-token", "pageToken"),
                ("start-after", "startOffset"),
            )
            if query.get(xml_name)
        }
        url = URL(f"{self.upstream}/storage/v1/b/{bucket}/o").with_query(wanted)
        async with self.session.get(url) as answer:
            if answer.status != 200:
                return failure(answer.status, "NoSuchBucket")
            page = await answer.json()
        result = ET.Element("ListBucketResult")
        add(result, Name=bucket, Prefix=query.get("prefix", ""))
        for item in page.get("items", ()):
            if item["name"] == query.get("start-after"):
                continue  # JSON's offset is the first name, XML's is the last one not wanted
            entry = ET.SubElement(result, "Contents")
            add(entry, Key=item["name"], LastModified=item["updated"], ETag=f'"{item["etag"]}"', Size=item["size"])
        for prefix in page.get("prefixes", ()):
            add(ET.SubElement(result, "CommonPrefixes"), Prefix=prefix)
        token = page.get("nextPageToken", "")
        add(result, IsTruncated="true" if token else "false")
        if token:
            add(result, NextContinuationToken=token)
        return document(result)

    def begin_upload(self, bucket: str, name: str, content_type: str) -> web.Response:
        """The first step of a multipart upload."""
        upload_id = uuid4().hex
        self.uploads[upload_id] = Upload(content_type)
        return with_document(
            web.Response(), "InitiateMultipartUploadResult", Bucket=bucket, Key=name, UploadId=upload_id
        )

    async def add_part(self, upload_id: str, number: int, body: bytes) -> web.Response:
        """Any number of steps, in any order."""
        if upload_id not in self.uploads:
            return failure(404, "NoSuchUpload")
        self.uploads[upload_id].parts[number] = body
        return web.Response(headers={"ETag": f'"{hashlib.sha256(body).hexdigest()}"'})

    async def complete_upload(
        self, upload_id: str, bucket: str, name: str, listing: bytes, headers: Mapping[str, str]
    ) -> web.Response:
        """The last step, which makes the object visible: the listed parts in their listed order."""
        upload = self.uploads.pop(upload_id, None)
        if upload is None:
            return failure(404, "NoSuchUpload")
        numbers = [int(number) for number in re.findall(rb"<PartNumber>(\d+)</PartNumber>", listing)]
        if not upload.parts.keys() >= set(numbers):
            return failure(400, "InvalidPart")
        body = b"".join(upload.parts[number] for number in numbers)
        written = await self.write(bucket, name, body, upload.content_type, headers)
        return with_document(written, "CompleteMultipartUploadResult", ETag=written.headers.get("ETag", ""))


def names(condition: str, etag: str) -> bool:
    """Whether the value of an If-Match or If-None-Match header names this ETag."""
    return condition.strip() == "*" or etag in (part.strip() for part in condition.split(","))


def add(parent: ET.Element, **texts: str) -> None:
    """Append one element for each name."""
    for tag, text in texts.items():
        ET.SubElement(parent, tag).text = text


def document(root: ET.Element, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """An answer that is an XML document."""
    body = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return web.Response(status=status, body=body, headers=headers, content_type="application/xml")


def with_document(answer: web.Response, tag: str, **texts: str) -> web.Response:
    """The same answer with a document, if it is a success; a failure has one."""
    if answer.status != 200:
        return answer
    root = ET.Element(tag)
    add(root, **texts)
    kept = {name: answer.headers[name] for name in ("ETag", "x-goog-generation") if name in answer.headers}
    return document(root, headers=kept)


def failure(status: int, code: str) -> web.Response:
    """An error in Google's form."""
    root = ET.Element("Error")
    add(root, Code=code)
    return document(root, status=status)


def application(upstream: str) -> web.Application:
    """The gateway as a web application."""

    async def connected(app: web.Application) -> AsyncIterator[None]:
        async with ClientSession(connector=TCPConnector(limit=0)) as session:
            gateway = Gateway(upstream, session)
            app[HANDLER] = gateway
            yield

    async def handle(request: web.Request) -> web.Response:
        return await request.app[HANDLER].handle(request)

    app = web.Application(client_max_size=LARGEST_BODY)
    app.cleanup_ctx.append(connected)
    app.router.add_route("*", "/{anything:.*}", handle)
    return app


HANDLER = web.AppKey("gateway", Gateway)


def main() -> None:
    """Serve until killed, on the loopback interface only."""
    parser = argparse.ArgumentParser(description="Google's XML API in front of fake-gcs-server.")
    parser.add_argument(
        "--upstream", required=True, help="where fake-gcs-server listens, such as http://127.0.0.1:4443"
    )
    parser.add_argument("--port", required=True, type=int)
    options = parser.parse_args()
    web.run_app(application(options.upstream), host="127.0.0.1", port=options.port, access_log=None, print=None)


if __name__ == "__main__":
    main()
