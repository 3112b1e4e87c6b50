"""`kafkaesque topic …`: topics and the records in them. app.py lists the commands.

The longer ones have files of their own: produce.py, consume.py, describe.py, trim.py. names.py
completes and checks names of topics, position_text.py reads what `--offset` says, and the language
of `-f` is in record_format.py, record_print.py and record_input.py.
"""
