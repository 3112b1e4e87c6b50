"""`kafkaesque schema register`: a schema becomes a subject's next version.

Above: app.py. Below: schema_input.py, client/registry.
"""

from typing import Annotated

import typer

from kafkaesque.cli.output import Format, OutputFormat, echo_data, echo_table
from kafkaesque.cli.schema.connecting import connect
from kafkaesque.cli.schema.names import SubjectName
from kafkaesque.cli.schema.schema_input import (
    ReferencesOption,
    SchemaFile,
    TypeOption,
    read_schema,
)


def register(
    context: typer.Context,
    subject: SubjectName,
    file: SchemaFile,
    schema_type: TypeOption = None,
    references: ReferencesOption = None,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize", help="Schemas that mean the same are the same, however written."
        ),
    ] = False,
    output: OutputFormat = Format.TABLE,
) -> None:
    """Register a schema as the next version of a subject.

    The registry refuses one that is not compatible with those before it, as the subject's level
    says. A schema that the subject has already keeps its version and its id. Serializers look for
    the schemas of a topic's values in the subject TOPIC-value, and for its keys' in TOPIC-key.

    \b
    Examples:
      kafkaesque schema register stock_avro_topic-value --file tick.avsc
      kafkaesque schema register orders-value --file - --type avro < order.avsc
      kafkaesque schema register orders-value --file order.proto --reference money.proto=money:1
    """
    schema = read_schema(file, schema_type, references or ())
    with connect(context) as registry:
        made = registry.register(subject, schema, normalize=normalize)
        if not made.version:  # Confluent's own tells the id alone.
            made = registry.lookup(subject, schema, normalize=normalize)
    if output is Format.TABLE:
        heads = ("SUBJECT", "VERSION", "ID", "TYPE")
        echo_table(heads, [(made.subject, made.version, made.id, schema.type)])
    else:
        told = {"subject": made.subject, "version": made.version, "id": made.id}
        echo_data(told | {"type": schema.type, "guid": made.guid}, output)
