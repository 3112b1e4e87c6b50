"""`kafkaesque schema …`: the subjects of a registry, ours or any that speaks Confluent's REST API.

app.py lists the commands; each has a file of its own, but for mode and config (settings.py).
connecting.py has their options, names.py completes subjects, schema_input.py reads files,
verdicts.py says who can read whom, failures.py what to do about a refusal.
"""
