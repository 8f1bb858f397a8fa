"""What Bayou runs on, and what it was told."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import apsw

from bayou._version import __version__
from bayou.config import urls
from bayou.health.findings import Finding, notice, ok
from bayou.health.patient import Patient

_PACKAGES = ("apsw", "cel-expr-python", "msgspec", "obstore", "boto3", "pyarrow")


def versions(_: Patient) -> Iterator[Finding]:
    """For reports, above all."""
    sqlite = apsw.sqlite_lib_version()
    packages = {name: found for name in _PACKAGES if (found := _version(name))}
    yield ok(
        f"bayou {__version__}, Python {platform.python_version()}, SQLite {sqlite}, {platform.system()}",
        bayou=__version__,
        python=platform.python_version(),
        sqlite=sqlite,
        system=platform.platform(),
        packages=packages,
    )


def configuration(patient: Patient) -> Iterator[Finding]:
    settings = patient.settings
    yield ok(
        f"{urls.displayed(settings.location)}, by the {settings.origins['location']}",
        type=settings.location.type,
        namespace=settings.namespace,
        origins={name: str(origin) for name, origin in settings.origins.items()},
    )
    for warning in settings.warnings:
        yield notice(warning, "Correct it in .swamp.yaml or in the environment.")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
