"""Configuration: `.swamp.yaml`, environment, arguments and URLs become one value, with the origin of each setting.

Nothing here reads the process's own environment or prints: what is to be read is handed in, warnings are handed back.
"""

from bayou.config.loading import load
from bayou.config.locations import GCS, S3, Azure, Folder, Location, Mongo, Plugin
from bayou.config.settings import Arguments, Hydration, Origin, Settings, Source

__all__ = [
    "GCS",
    "S3",
    "Arguments",
    "Azure",
    "Folder",
    "Hydration",
    "Location",
    "Mongo",
    "Origin",
    "Plugin",
    "Settings",
    "Source",
    "load",
]
