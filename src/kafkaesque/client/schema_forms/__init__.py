"""Keys and values in the forms that a schema registry describes: "avro", "json-schema", "protobuf".

forms.py is what Producer, Consumer, Table and App ask. options.py has the words that they share,
given.py knows what `schema=` may be, writing.py has the way to bytes and reading.py the way back.
Above: client/producer.py, client/consumer.py, client/app/.
Below: client/registry/, client/schemas/.
"""
