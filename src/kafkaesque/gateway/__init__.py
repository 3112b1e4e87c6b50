"""The ways to topics without a Kafka client: HTTP events, and the selective fan-out.

Both talk to a cluster through client/ alone, and so run against any.
"""
