"""The schema registry: Confluent's REST API over a compacted topic of any cluster.

    a request ─► app.py, routes/     what was asked, and how it is answered
                 ├─ a question: catalog.py, what is registered, as far as the topic has been read
                 └─ a change: journal.py ─► decisions/ (pure: what follows from the catalog)
                                         ─► writing.py (one transaction) ─► the topic
    the topic ─► reading.py ─► log_records.py ─► catalog.py

avro/, jsonschema/ and protobuf/ know the three kinds of schemas. docs/design/registry.md has the
argument why several registries on one topic agree.
"""
