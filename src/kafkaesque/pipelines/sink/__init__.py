"""Rows of Spark into topics, exactly once: what `format("kafkaesque")` writes.

    options.py    what the user asked for            layout.py     which columns the rows have
    staging.py    rows at rest, between the tasks that made them and the driver that sends them
    state.py      what is written, and by which run of a query: as text that fits an offset
    ledger.py     where that text is kept: beside the offsets that a group has committed
    producer.py   a transaction of librdkafka's      committer.py  one batch of a query, once
    stream.py     `frame.writeStream`                batch.py      `frame.write`

Tasks stage their rows; the driver sends them all in one transaction, which also keeps the state.
docs/design/exactly-once.md tells what a crash does at each point.
Above: pyspark_kafkaesque. Below: client/, marks.py.
"""
