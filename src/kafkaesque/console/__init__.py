"""The console: a page in the browser that shows any Kafka cluster live.

    browsers ──► pages/ (draw) ──► poller.py (one for all) ──► look.py ──► client/
                        └──────► tail_view.py (one per open tail) ◄── client/tail.py

Pure: snapshot.py (what was seen, and rates), tail_view.py (which records are shown),
record_text.py (how a record reads), addresses.py (deep links). app.py builds it and serves it.
"""
