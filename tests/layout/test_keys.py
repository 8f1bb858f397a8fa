"""Keys: the table of sync spec 1.1, in both directions."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.domain.partitions import partition_key
from bayou.errors import UsageError
from bayou.layout.keys import STORE_ID, Keyspace, Located, Role, namespace_of_manifest
from bayou.testing.strategies import known_paths, models, namespaces, safe_paths

GOLDEN = Path(__file__).parents[1] / "golden"
SOLO, INFRA = Keyspace(), Keyspace("infra")
WEB = Model(ModelType("@Acme::Geo"), "9f1c")


@pytest.mark.parametrize(
    ("key_of", "solo", "namespaced", "located"),
    [
        (lambda keys: keys.data("data/a"), "data/a", "infra/data/a", Located(Role.DATA, "data/a")),
        (lambda keys: keys.monolith, ".datastore-index.json", "infra/.datastore-index.json", Located(Role.MONOLITH)),
        (lambda keys: keys.meta, "_index/_meta.json", "infra/_index/_meta.json", Located(Role.META)),
        (lambda keys: keys.shard("data--@o--a b"), "_index/data--@o--a b.json", "infra/_index/data--@o--a b.json",
         Located(Role.SHARD, "data--@o--a b")),
        (lambda keys: keys.control("claims/x"), "_control/claims/x", "infra/_control/claims/x",
         Located(Role.CONTROL, "claims/x")),
        (lambda keys: keys.tombstones("audit"), "_control/bayou/tombstones/audit.json",
         "infra/_control/bayou/tombstones/audit.json", Located(Role.TOMBSTONES, "audit")),
        (lambda keys: keys.tombstones(None), "_control/bayou/tombstones/_unpartitioned.json",
         "infra/_control/bayou/tombstones/_unpartitioned.json", Located(Role.TOMBSTONES)),
        (lambda keys: keys.manifest, ".namespace.json", "infra/.namespace.json", Located(Role.MANIFEST)),
        (lambda keys: keys.catalog_export, ".catalog-export.json", "infra/.catalog-export.json",
         Located(Role.DATA, ".catalog-export.json")),
        (lambda keys: keys.global_lock, ".datastore.lock", ".locks/infra.lock", Located(Role.GLOBAL_LOCK)),
        (lambda keys: keys.model_lock(WEB), "data/@acme/geo/9f1c/.lock", "infra/data/@acme/geo/9f1c/.lock",
         Located(Role.MODEL_LOCK, "data/@acme/geo/9f1c")),
        (lambda _: STORE_ID, "_control/bayou/store.json", "_control/bayou/store.json", Located(Role.STORE_ID)),
    ],
)  # fmt: skip
def test_the_table(key_of: Callable[[Keyspace], str], solo: str, namespaced: str, located: Located) -> None:
    assert (key_of(SOLO), key_of(INFRA)) == (solo, namespaced)
    assert SOLO.locate(solo) == INFRA.locate(namespaced) == located


@pytest.mark.parametrize(
    ("keyspace", "key", "expected"),
    [
        (INFRA, "data/a", Located(Role.OUTSIDE, "data/a")),
        (INFRA, ".datastore.lock", Located(Role.OUTSIDE, ".datastore.lock")),
        (INFRA, ".locks/team-a.lock", Located(Role.OUTSIDE, ".locks/team-a.lock")),
        (INFRA, "infrared/data/a", Located(Role.OUTSIDE, "infrared/data/a")),
        (INFRA, "_control/x", Located(Role.OUTSIDE, "_control/x")),
        (INFRA, "infra/infra/data/a", Located(Role.DATA, "infra/data/a")),
        (INFRA, "infra/_control/bayou/store.json", Located(Role.CONTROL, "bayou/store.json")),
        (SOLO, ".locks/infra.lock", Located(Role.INTERNAL, ".locks/infra.lock")),
        (SOLO, ".push-queue.json", Located(Role.INTERNAL, ".push-queue.json")),
        (SOLO, "_index/notes.txt", Located(Role.INTERNAL, "_index/notes.txt")),
        (SOLO, "_index/nested/x.json", Located(Role.SHARD, "nested/x")),
        (SOLO, "outputs/.lock", Located(Role.INTERNAL, "outputs/.lock")),
        (INFRA, "infra/", Located(Role.INTERNAL)),
        (SOLO, "", Located(Role.INTERNAL)),
    ],
)
def test_what_a_key_is_depends_on_the_namespace(keyspace: Keyspace, key: str, expected: Located) -> None:
    assert keyspace.locate(key) == expected


@given(namespaces(), known_paths())
def test_data_reads_back_from_its_key(namespace: str, path: str) -> None:
    assert Keyspace(namespace).locate(Keyspace(namespace).data(path)) == Located(Role.DATA, path)


@given(namespaces(), safe_paths())
def test_a_shard_and_its_tombstones_read_back_from_their_keys(namespace: str, path: str) -> None:
    partition = partition_key(path)
    keys = Keyspace(namespace)
    if partition is not None:
        assert keys.locate(keys.shard(partition)) == Located(Role.SHARD, partition)
    assert keys.locate(keys.tombstones(partition)) == Located(Role.TOMBSTONES, partition or "")


@given(namespaces(), models())
def test_a_models_lock_reads_back_from_its_key(namespace: str, model: Model) -> None:
    found = Keyspace(namespace).locate(Keyspace(namespace).model_lock(model))
    assert found == Located(Role.MODEL_LOCK, f"data/{model.type}/{model.id}")


@given(namespaces(solo=False), namespaces(solo=False), safe_paths())
def test_no_namespace_sees_into_another(mine: str, other: str, path: str) -> None:
    if mine != other:
        assert Keyspace(mine).locate(Keyspace(other).data(path)).role is Role.OUTSIDE
        assert Keyspace(mine).locate(Keyspace(other).global_lock).role is Role.OUTSIDE


@pytest.mark.parametrize("slug", ["Infra", "a/b", "..", "_index", ".locks", "a\n"])
def test_only_a_slug_can_be_bound(slug: str) -> None:
    with pytest.raises(UsageError):
        Keyspace(slug)


@pytest.mark.parametrize(
    ("key", "namespace"),
    [
        ("infra/.namespace.json", "infra"),
        (".namespace.json", None),
        ("/.namespace.json", None),
        ("infra/team/.namespace.json", None),
        ("infra/namespace.json", None),
        ("infra", None),
    ],
)
def test_a_manifest_names_its_namespace(key: str, namespace: str | None) -> None:
    assert namespace_of_manifest(key) == namespace


@pytest.mark.parametrize(
    ("step", "namespace"),
    [("a-v1-dual-write", ""), ("b-v2-migrated", ""), ("d-ns-v2", "infra"), ("d-ns-v2", "team-a")],
)
def test_every_object_that_an_existing_client_wrote_is_located(step: str, namespace: str) -> None:
    keys = Keyspace(namespace)
    bucket = GOLDEN / step / "bucket"
    found = [keys.locate(path.relative_to(bucket).as_posix()) for path in bucket.rglob("*") if path.is_file()]
    data = {located.name for located in found if located.role is Role.DATA}
    data.discard(".catalog-export.json")  # in these it was put there without an entry (sync spec 1.8)
    shards = {located.name for located in found if located.role is Role.SHARD}
    meta = json.loads((bucket / keys.meta).read_bytes())
    assert shards == set(meta["partitions"])
    assert data == {
        path for shard in shards for path in json.loads((bucket / keys.shard(shard)).read_bytes())["entries"]
    }
