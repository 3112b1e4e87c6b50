"""Topics as tables of Spark: what `format("kafkaesque")` reads.

    options.py   what the user asked for (security.py: as whom)
    offsets.py   places in the log, as JSON and as arithmetic: shares of a limit, pieces of a range
    planning.py  which partitions, from where to where: asked of the cluster, on the driver
    batch.py     one plan, once            stream.py  a plan for every micro-batch (commits.py: lag)
    reading.py   one piece of one partition, in a task (fetching.py: what its process keeps)
    columns.py   what was fetched, in the columns of Spark
    decoding/    its values as typed columns

Spark finds it by the name of the package pyspark_kafkaesque, which has the class it looks for.
Above: pyspark_kafkaesque. Below: client/fetch.py, client/columns/.
"""
