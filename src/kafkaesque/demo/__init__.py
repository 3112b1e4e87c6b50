"""Something to look at: made-up stock ticks that flow into a topic.

ticks.py makes them and pace.py says when (both pure: chance and time are passed in); sender.py
writes them to a cluster over librdkafka. Above: cli/demo.py. Below: client.
"""
