"""Events over HTTP: what `kafkaesque gateway` serves.

app.py puts it together, server.py runs it. write.py takes events (new_event.py reads them,
writer.py sends them); read.py gives them, as a stream or a page (reading.py finds them, start.py
says where to begin, want.py which of them). topics.py and groups.py tell of the cluster.
"""
