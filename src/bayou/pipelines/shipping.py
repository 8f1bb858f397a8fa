"""Shipping: our package as a zip, so that executors and Connect servers run the very code of the driver.

A zip carries Python only. What is compiled (obstore, msgspec, pyarrow, apsw) has to be installed on the workers.
"""

import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGES = ("bayou", "pyspark_bayou")


def ship(spark: "SparkSession") -> None:
    """Give the package to whoever works for this session."""
    zipped = str(package())
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        spark.addArtifacts(zipped, pyfile=True)
    else:
        spark.sparkContext.addPyFile(zipped)


@cache
def package() -> Path:
    """The zip; a new one for each process, as the code may have changed."""
    target = Path(tempfile.mkdtemp(prefix="bayou-")) / "bayou.zip"
    source = Path(__file__).resolve().parents[2]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in _PACKAGES:
            for file in sorted((source / name).rglob("*")):
                if file.suffix in {".py", ".typed"} and "__pycache__" not in file.parts:
                    zipped.write(file, file.relative_to(source))
    return target
