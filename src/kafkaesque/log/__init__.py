"""The log: record batches in segment files, exactly as Kafka lays them out, and in memory.

log.py is the door. Below it, each knowing only the next: segment.py (active, sealed) and
memory.py, index.py, files.py (the seam to the disk). recovery.py opens what a crash left behind,
directory.py keeps the data directory around the partitions. Synchronous and pure: what may block
says so, and the broker runs it in a thread; the clock is passed in.
"""
