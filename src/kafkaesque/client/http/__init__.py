"""Events over HTTP, for programs without librdkafka: what talks to `kafkaesque gateway`.

producer.py writes, consumer.py reads, both for programs that wait and programs that await.
answers.py makes errors of the gateway's answers, track.py follows a stream. On httpx and httpx-sse
(the extra `web`); nothing here loads confluent-kafka, and a test holds that.
"""

from kafkaesque.client.http.consumer import HttpConsumer
from kafkaesque.client.http.producer import HttpProducer
from kafkaesque.client.http.track import Gap

__all__ = ["Gap", "HttpConsumer", "HttpProducer"]
