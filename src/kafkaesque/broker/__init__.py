"""The broker: connections, APIs, topics, partitions and groups, on one event loop.

server.py runs it, broker.py builds it, apis/ is what it answers.
"""
