"""Which rights Bayou needs where the datastore is, and no more: an IAM policy, roles, the rights of a folder."""

from bayou.config.locations import GCS, S3, Azure, Folder, Location, Mongo
from bayou.errors import Unsupported


def policy(location: Location) -> dict[str, object]:
    match location:
        case S3(bucket=bucket, prefix=prefix, region=region):
            return _iam(bucket, prefix, _partition(region))
        case GCS(bucket=bucket, prefix=prefix):
            return _roles(
                f"gs://{bucket}",
                prefix,
                write=["roles/storage.objectUser"],
                read=["roles/storage.objectViewer"],
                # A listing is of the bucket, whose name says nothing of a prefix; so it is asked for what it lists.
                condition=f"resource.name.startsWith('projects/_/buckets/{bucket}/objects/{prefix}/') ||"
                f" api.getAttribute('storage.googleapis.com/objectListPrefix', '').startsWith('{prefix}/')",
            )
        case Azure(container=container, prefix=prefix, account=account):
            scope = f"/blobServices/default/containers/{container}"
            return _roles(
                f"storage account {account or '(AZURE_STORAGE_ACCOUNT_NAME)'}{scope}",
                prefix,
                write=["Storage Blob Data Contributor"],
                read=["Storage Blob Data Reader"],
                condition=None,
            )
        case Folder(path):
            return {"path": str(path), "write": ["read", "write", "search", "hard links"], "read": ["read", "search"]}
        case Mongo():
            return {"write": ["readWrite"], "read": ["read"]}
        case _:
            raise Unsupported(f"which rights a {location.type} needs is known to the package that offers it")


def _iam(bucket: str, prefix: str, partition: str) -> dict[str, object]:
    arn = f"arn:{partition}:s3:::{bucket}"
    listing: dict[str, object] = {
        "Sid": "BayouList",
        "Effect": "Allow",
        # Without it S3 answers "forbidden" where an object is missing, and nobody could tell the two apart.
        "Action": ["s3:ListBucket"],
        "Resource": [arn],
    }
    if prefix:
        # "IfExists", as the question for one object names no prefix.
        listing["Condition"] = {"StringLikeIfExists": {"s3:prefix": [prefix, f"{prefix}/*"]}}
    objects = f"{arn}/{prefix}/*" if prefix else f"{arn}/*"
    return {
        "Version": "2012-10-17",
        "Statement": [
            listing,
            {
                "Sid": "BayouObjects",
                "Effect": "Allow",
                "Action": [
                    "s3:GetObject",
                    "s3:PutObject",
                    "s3:DeleteObject",
                    "s3:AbortMultipartUpload",
                ],
                "Resource": [objects],
            },
        ],
    }


def _partition(region: str | None) -> str:
    """In China, and for the American government, the names of all resources begin otherwise."""
    match (region or "").split("-"):
        case ["cn", *_]:
            return "aws-cn"
        case ["us", "gov", *_]:
            return "aws-us-gov"
        case _:
            return "aws"


def _roles(where: str, prefix: str, *, write: list[str], read: list[str], condition: str | None) -> dict[str, object]:
    document: dict[str, object] = {"resource": where, "write": write, "read": read}
    if prefix and condition:
        document["condition"] = condition
    return document
