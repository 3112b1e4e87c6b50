"""The lake: Iceberg tables of what was in topics, for queries.

    options.py     what the user of `format("kafkaesque_lake")` asked for
    warehouse.py   where tables are and how they are called: a catalog of pyiceberg's
    schemas.py     the columns of a frame and of a table, and how a table's grow
    files.py       rows to Parquet, in the tasks of Spark, without pyiceberg
    rows.py        and back, in the table's columns of today
    committing.py  files to rows of the table, and the marks beside them, in one transaction
    writer.py      the two of them as a sink of Spark       reader.py   and the way back
    history.py     lake and topic as one frame
    compaction.py, expiry.py, sweeping.py    what maintenance.py does to keep a table quick

Below: pyiceberg. Above: archive.py, cli/lake/, pyspark_kafkaesque_lake.
"""
