"""The `kafkaesque` command.

main.py is the entry point and lists the commands. A command is a function in the file of its name
(`topic consume` in consume.py, `cluster offsets` in lag.py, `group seek` in seeking.py). What they
share: connecting.py says which cluster, settings_file.py gives defaults, options.py reads what
options are made of, completion.py completes names, output.py and reports.py write tables, JSON and
YAML, record_*.py read and print records, stopping.py ends on Ctrl-C. up.py runs the platform:
supervisor.py, processes.py, child.py, with ports.py and reset.py before it.

The broker's side and the client's side (librdkafka) are imported inside the commands, so that
neither loads the other: a broker process holds no client library. Above: nothing.
Below: broker, client, console, demo.
"""
