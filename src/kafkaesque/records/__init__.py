"""Record batches v2: the bytes that producers send, the log keeps and consumers fetch.

batch.py is the door: headers, CRCs and stamping for the hot path; opening and building off it.
record.py, compression.py and varint.py are what it stands on; murmur2.py says which partition a
key belongs to. Pure functions over buffers: no I/O, no clock.
Below: errors, types. Above: log, protocol, broker.
"""
