"""`kafkaesque cluster …`: a cluster as a whole. app.py lists the commands, health.py says whether
it is well, offsets.py how far groups are behind.
"""
