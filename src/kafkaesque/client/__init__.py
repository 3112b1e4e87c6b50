"""The client's side: everything that talks to a Kafka cluster, ours or another, over the wire.

connection.py says which cluster and as whom. admin.py asks it about topics (topics.py has the
nouns), groups.py about groups, cluster.py about all of it, seek.py moves groups; answers.py makes
what comes back plain. reader.py, writer.py and tail.py move records (record.py). What programs use:
producer.py (outbox.py, delivery.py), consumer.py (intake.py, assignment.py, progress.py), table.py,
with serde.py and schema_forms/ for keys and values and profiles.py for settings; registry/ asks
schema registries, and schemas/ has the codecs. All of it stands on confluent-kafka
(librdkafka). What that cannot ask wire.py asks in our own codec: log_dirs.py for sizes,
transactions.py and producers.py for transactions (transaction.py has the nouns,
transaction_status.py the words). fetch.py reads whole batches in it, on an event loop (links.py,
leader.py, fetched.py; sasl.py and greeting.py log in). filters/ is the predicate language, app/
runs handlers, subscriber.py talks to the fan-out (v1/ is its protocol), http/ to the gateway
(vectors.py, event_json.py). None of it stands on the broker, so that the parts above run unchanged
against Redpanda or Apache Kafka. Above: cli, console, demo. Below: protocol, errors.
"""
