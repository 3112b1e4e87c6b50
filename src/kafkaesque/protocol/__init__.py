"""Kafka's wire protocol without I/O: bytes in, messages out, and back.

schema.py says how a message is declared, messages/ declares them, codec.py turns them into bytes
and back, header.py and frame.py wrap them. Nothing here knows of sockets, brokers or time.
"""
