"""Where Spark finds `format("kafkaesque")`: a package named pyspark_… with a class DefaultSource.

Every session that uses any source of Python's imports this file: it loads nothing but what Spark
has loaded already. Below: kafkaesque/pipelines/source/.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kafkaesque.pipelines.source.batch import BatchReader
    from kafkaesque.pipelines.source.stream import StreamReader

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kafkaesque"

    def schema(self) -> str:
        from kafkaesque.pipelines.source.columns import declared
        from kafkaesque.pipelines.source.options import includes_headers

        return declared(includes_headers(self.options))

    def reader(self, schema: "StructType") -> "BatchReader":
        from kafkaesque.pipelines.source.batch import BatchReader
        from kafkaesque.pipelines.source.options import batch_options

        return BatchReader(batch_options(self.options))

    def streamReader(self, schema: "StructType") -> "StreamReader":  # noqa: N802
        from kafkaesque.pipelines.source.options import stream_options
        from kafkaesque.pipelines.source.stream import StreamReader

        return StreamReader(stream_options(self.options))
