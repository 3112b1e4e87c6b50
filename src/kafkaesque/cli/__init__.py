"""The `kafkaesque` command.

main.py is the entry point and lists the commands: broker.py, console.py, demo.py, up/, and those of
topic/, group/, txn/ and cluster/. What they share: connecting.py says which cluster,
settings_file.py gives defaults, options.py, moments.py and durations.py read what options are made
of, completion.py completes names, confirming.py asks, output.py and reports.py write tables, JSON
and YAML, stopping.py ends on Ctrl-C.

The broker's side and the client's side (librdkafka) are imported inside the commands, so that
neither loads the other: a broker process holds no client library. Above: nothing.
Below: broker, client, console, demo.
"""
