"""The `kafkaesque` command.

main.py is the entry point and lists the commands; each command is a function in the file of its
name. The broker's side (`kafkaesque broker`) and the client's side (`kafkaesque topic …`, over
librdkafka) are imported inside the commands, so that neither loads the other: a broker process
holds no client library. options.py reads addresses and name=value pairs, output.py writes tables
and JSON, admin.py asks a cluster. Above: nothing. Below: broker, errors.
"""
