"""All subjects of the registry: type, versions, compatibility. And a form for a new one.

The registry is asked only while this page is open. Above: frame.py. Below: ../schemas.py.
"""

from typing import Any

from nicegui import ui

from kafkaesque.client.registry import Registered
from kafkaesque.client.subjects import Subject
from kafkaesque.console.addresses import subject_path
from kafkaesque.console.pages.parts import (
    Column,
    Figures,
    Table,
    Watch,
    link,
    live,
    panel,
    tag,
    text,
    title,
)
from kafkaesque.console.pages.schema_form import SchemaForm
from kafkaesque.console.schema_reader import TYPES
from kafkaesque.console.schemas import Schemas, SchemasView

COLUMNS = (
    Column("subject", "Subject", "link"),
    Column("type", "Type"),
    Column("versions", "Versions", "number"),
    Column("latest", "Latest", "number", minor=True, hint="The number of the newest version"),
    Column("schema", "Id", minor=True, hint="What records of the newest version begin with"),
    Column("compatibility", "Compatibility", minor=True, hint="What a next version has to be"),
)
NONE_YET = "No schemas yet.\nRegister one below, or with: kafkaesque schema register"


def schemas_page(schemas: Schemas) -> None:
    title("Schemas")
    Watch(schemas)
    problem = text("p", "", "k-banner").props('role="alert"')
    figures = Figures(Subjects="number", Versions="number")
    with panel():
        table = Table(COLUMNS, "subject", "", searchable=True, sort_by="subject")
    with tag("details", "k-panel"):
        text("summary", "Register a schema")
        SchemaForm(schemas, None, _open)

    def draw(view: SchemasView) -> None:
        problem.set_visibility(view.problem is not None)
        problem.write(view.problem or "")
        table.explain("Asking the registry …" if view.subjects is None else NONE_YET)
        table.fade(view.problem is not None)
        if view.subjects is not None:
            count = sum(len(each.versions) for each in view.subjects)
            figures.show(Subjects=len(view.subjects), Versions=count)
            table.show([subject_row(each) for each in view.subjects])

    live(schemas, draw)


def subject_row(subject: Subject) -> dict[str, Any]:
    return {
        "id": subject.name,
        "subject": link(subject.name, subject_path(subject.name)),
        "type": TYPES.get(subject.schema_type, subject.schema_type),
        "versions": len(subject.versions),
        "latest": max(subject.versions),
        "schema": str(subject.latest_id),
        "compatibility": subject.compatibility,
    }


def _open(made: Registered) -> None:
    ui.navigate.to(subject_path(made.subject))
