"""Values as typed columns: what `.option("decode", …)` makes of them, in the task that reads them.

    asked.py         what the user asked for
    pinned.py        the schema that a query reads by: found once on the driver, kept by every task
    declaring.py     what Spark is told of the columns, and tasks of the schema
    values.py        a batch of the source, its `value` decoded, with `_error` or letters.py
    frames.py        which schema wrote each value: groups of one id, each read by its own reader
    avro.py, json_texts.py (json_schemas.py, json_strays.py), protobuf.py (messages.py)  the readers
    types.py         from a schema's types to Spark's
    shapes.py        arrays of the one as arrays of the other; fitting.py: the same, one by one
    rows.py          what a reader gives: rows, and the reasons of those that were refused

Two kinds of Arrow types are met here. A reader's own say what a value means: that a text is JSON, a
number a time of day. The declared ones are Spark's, to the letter.
Above: batch.py, pyspark_kafkaesque. Below: client/columns/, client/schemas/, client/registry/.
"""
