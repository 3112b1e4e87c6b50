"""Avro schemas: parsed strictly, printed as Java prints them, compared as Apache Avro compares.

Above: registry/kinds.py. Below: schema.py (texts), compatibility.py (comparison).
"""

from kafkaesque.registry.avro.compatibility import incompatibilities
from kafkaesque.registry.avro.schema import AvroSchema, parse

__all__ = ["AvroSchema", "incompatibilities", "parse"]
