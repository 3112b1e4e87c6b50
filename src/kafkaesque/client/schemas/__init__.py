"""What the payloads of framed records mean: codecs made of schemas.

framing.py has the bytes in front of a payload. codec.py chooses among avro.py (avro_parsing.py,
avro_limits.py), json_schema.py and protobuf.py (protobuf_files.py, protobuf_known.py,
protobuf_dicts.py), each of which loads its library when it is first needed. models.py derives
schemas from Pydantic models (avro_types.py, avro_defaults.py), generated.py from generated Protobuf
classes. plain.py makes JSON of whatever a codec decodes.
Above: client/schema_forms/, client/decoder.py. Below: client/registry/.
"""

from kafkaesque.client.schemas.codec import Codec, Resolve, codec, codec_of_id, resolver
from kafkaesque.client.schemas.framing import NotFramedError, frame, unframe

__all__ = [
    "Codec",
    "NotFramedError",
    "Resolve",
    "codec",
    "codec_of_id",
    "frame",
    "resolver",
    "unframe",
]
