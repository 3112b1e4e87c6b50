"""The console: a page in the browser that shows any Kafka cluster live.

    browsers ──► pages/ (draw) ──► poller.py (one for all) ──► look.py ──► client/
                 │      └──────► tail_view.py (one per open tail) ◄── client/tail.py
                 │                        └─────── of what a filter matches: fanout_tail.py
                 └─────────────► fanout_poller.py (one for all) ──► the fan-out's /stats

Pure: snapshot.py (what was seen, and rates), fanout_figures.py (the same of the fan-out),
tail_view.py (which records are shown), record_text.py (how a record reads), addresses.py (deep
links). app.py builds it and serves it.
"""
