"""Where tables are and how they are called.

    <warehouse>/catalog.db                  which tables there are (SQLite), unless a catalog of
                                            another kind is named: any that pyiceberg knows
    <warehouse>/lake/ticks/data/….parquet   rows
    <warehouse>/lake/ticks/metadata/…       snapshots, manifests, schemas, properties

A table is called by the name of its topic, dots and dashes made "_"; which topic it is of is kept
in its properties, so that two topics never mix. Above: writer.py, archive.py, cli/lake/.
Below: pyiceberg.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkaesque.pipelines.lake.errors import LakeError, explained

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

NAME: Final = "lake"
"""Of the catalog, and of the namespace that tables are in unless told otherwise."""
TOPIC: Final = "kafkaesque.topic"
_TOPIC_ID: Final = "kafkaesque.topic-id"
_WAIT_S = 30
"""So long a process waits while another one writes to the catalog's file."""
_NEW_TABLE: Final = {
    # Each commit adds a manifest: without merging, reading and committing would grow ever slower.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "16",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "16",
}


@dataclass(frozen=True, slots=True)
class Warehouse:
    """`settings` are pyiceberg's for the catalog; none: a file of SQLite's in the warehouse."""

    place: str
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, place: str, settings: Mapping[str, str] | None = None) -> "Warehouse":
        if "://" not in place:
            place = str(Path(place).expanduser().absolute())
        return cls(place, tuple(sorted((settings or {}).items())))

    def catalog(self) -> "Catalog":
        """Raises LakeError."""
        with explained(f"open the lake at {self.place}"):
            inode, found = _kept.get(self, (-1, None))
            if found is None or inode != self._inode():
                found = _opened(self)
                _kept[self] = self._inode(), found
            return found

    def table(self, name: str) -> "Table":
        """Of "lake.ticks". Raises LakeError if it is not there."""
        with explained(f"open {name} in {self.place}"):
            return self.catalog().load_table(identifier(name))

    def maybe_table(self, name: str) -> "Table | None":
        from pyiceberg.exceptions import NoSuchTableError

        with explained(f"open {name} in {self.place}"):
            try:
                return self.catalog().load_table(identifier(name))
            except NoSuchTableError:
                return None

    def ensured(self, name: str, schema: "pa.Schema", properties: Mapping[str, str]) -> "Table":
        """The table, made if it is not there."""
        from pyiceberg.exceptions import TableAlreadyExistsError

        if (found := self.maybe_table(name)) is not None:
            return found
        catalog = self.catalog()
        with explained(f"make {name} in {self.place}"):
            catalog.create_namespace_if_not_exists(identifier(name)[:-1])
            try:
                told = {**_NEW_TABLE, **properties}
                return catalog.create_table(identifier(name), schema, properties=told)
            except TableAlreadyExistsError:
                return catalog.load_table(identifier(name))

    def names(self) -> list[str]:
        """All tables there are, as in "lake.ticks"."""
        catalog = self.catalog()
        with explained(f"list the tables of {self.place}"):
            found = [
                ".".join(each)
                for namespace in catalog.list_namespaces()
                for each in catalog.list_tables(namespace)
            ]
        return sorted(found)

    def _inode(self) -> int:
        """Of the catalog's file: one that was deleted and made anew must be opened anew."""
        try:
            return (Path(self.place) / "catalog.db").stat().st_ino
        except OSError:
            return 0

    def is_there(self) -> bool:
        """Whether a lake was made here, so that nobody makes one by asking for it."""
        return bool(self.settings) or (Path(self.place) / "catalog.db").is_file()


def table_name(topic: str, namespace: str = NAME) -> str:
    return f"{namespace}.{re.sub(r'[^A-Za-z0-9_]', '_', topic)}"


def topic_properties(topic: str, topic_id: str | None) -> dict[str, str]:
    """By which a table knows its topic."""
    return {TOPIC: topic} if topic_id is None else {TOPIC: topic, _TOPIC_ID: topic_id}


def require_topic(table: "Table", topic: str, topic_id: str | None) -> None:
    """Two topics whose names differ in a dot alone would be one table; and one that was made anew
    has other records at the same offsets."""
    name = ".".join(table.name())
    if (found := table.properties.get(TOPIC, topic)) != topic:
        raise LakeError(
            f"{name} holds the topic {found}, and {topic} would be called so too: "
            "archive it to another namespace (--namespace)"
        )
    if topic_id is not None and table.properties.get(_TOPIC_ID, topic_id) != topic_id:
        raise LakeError(
            f"{name} holds a topic {topic} that was deleted; the one that was made anew counts its "
            "records from the beginning again: archive it to another namespace (--namespace), or "
            "drop the table"
        )


def identifier(name: str) -> tuple[str, ...]:
    parts = tuple(name.split("."))
    if len(parts) < 2 or not all(parts):
        raise LakeError(f"{name!r} names no table: give namespace and name, as in lake.ticks")
    return parts


_kept: dict[Warehouse, tuple[int, "Catalog"]] = {}
"""What a process has open: Spark's processes plan and commit one batch after the other."""


def _opened(warehouse: Warehouse) -> "Catalog":
    from pyiceberg.catalog import load_catalog

    settings = dict(warehouse.settings)
    name = settings.pop("name", NAME)
    if not settings:
        if "://" in warehouse.place:
            raise LakeError(
                f"{warehouse.place} is no directory of this machine, so it needs a catalog: give "
                "catalog.type and catalog.uri, as pyiceberg names them"
            )
        Path(warehouse.place).mkdir(parents=True, exist_ok=True)
        path = f"{warehouse.place}/catalog.db"
        settings = {"type": "sql", "uri": f"sqlite:///{path}?timeout={_WAIT_S}"}
    local = "://" not in warehouse.place
    location = f"file://{warehouse.place}" if local else warehouse.place
    return load_catalog(name, **{"warehouse": location, **settings})
