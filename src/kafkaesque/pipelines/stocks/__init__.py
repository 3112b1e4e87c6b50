"""The pipeline `stocks`: ticks in, candles out.

queries.py   which queries there are, what they read and where they write: begin here
ticks.py     the ticks of both topics, and which of them cannot be used
windows.py   candles of one minute, wider windows of them, and both as records
left_out.py  ticks that came too late or cannot be used, to topics of their own

from kafkaesque.pipelines.stocks import Stocks, start
"""

from kafkaesque.pipelines.stocks.options import Stocks
from kafkaesque.pipelines.stocks.queries import start

__all__ = ["Stocks", "start"]
