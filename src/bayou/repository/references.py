"""References: which model somebody means who names it, or gives its id, in whole or in part."""

from collections.abc import Iterator

from bayou.catalog import Catalog
from bayou.domain.models import Model
from bayou.domain.modeltypes import ModelType
from bayou.layout.typefolders import type_at
from bayou.repository.models import Models


def resolve(reference: str, models: Models, catalog: Catalog, namespace: str) -> Model:
    """The model that has data under this name or id, or is defined. `TYPE/NAME` where several types know the name.

    Names and whole ids are found through the catalog, so that nobody reads all definitions to look at one model.
    """
    prefix, slash, name = reference.rpartition("/")
    found = [
        model
        for model in (
            *_in_catalog(catalog, namespace, "model_name", name),
            *_in_catalog(catalog, namespace, "model_id", name),
        )
        if not slash or model.type == ModelType(prefix)
    ]
    if len({model.type for model in found}) == 1:
        # Its data may also be under ids that it had before; it goes by the one that it has now.
        return (models.find(found[0].type, name) if len(found) > 1 else None) or models.meant(reference, found)
    return models.meant(reference, [*_in_catalog(catalog, namespace), *models.all()])


def _in_catalog(catalog: Catalog, namespace: str, column: str | None = None, value: str = "") -> Iterator[Model]:
    condition, parameters = "is_latest = 1 AND namespace = ?", [namespace]
    if column is not None:
        condition, parameters = f"{condition} AND {column} = ?", [namespace, value]
    rows = catalog.select(condition, parameters, columns=("DISTINCT type", "model_id", "model_name"))
    for type_path, model_id, model_name in rows:
        model_type = type_at(type_path)
        if model_type is not None:
            yield Model(model_type, model_id, model_name or None)
