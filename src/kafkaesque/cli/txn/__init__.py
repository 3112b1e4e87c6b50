"""`kafkaesque txn …`: transactions. app.py lists the commands, abort.py ends a transaction,
producers.py says who writes to a topic, names.py completes transactional ids.
"""
