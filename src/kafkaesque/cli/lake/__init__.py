"""`kafkaesque lake …`: the tables that `pipeline run archive` writes. app.py lists the commands,
maintain.py keeps tables quick, options.py says where the lake is, sizes.py reads and prints bytes.
"""
