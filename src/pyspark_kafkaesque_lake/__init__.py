"""Where Spark finds `format("kafkaesque_lake")`: a package named pyspark_… with a DefaultSource.

Every session that uses any source of Python's imports this file: it loads nothing but what Spark
has loaded already. Below: kafkaesque/pipelines/lake/.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kafkaesque.pipelines.lake.reader import LakeReader
    from kafkaesque.pipelines.lake.writer import BatchWriter, StreamWriter

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kafkaesque_lake"

    def schema(self) -> "StructType":
        from kafkaesque.pipelines.lake.options import read_options
        from kafkaesque.pipelines.lake.reader import declared

        return declared(read_options(self.options))

    def reader(self, schema: "StructType") -> "LakeReader":
        from kafkaesque.pipelines.lake.options import read_options
        from kafkaesque.pipelines.lake.reader import LakeReader

        return LakeReader(read_options(self.options))

    def writer(self, schema: "StructType", overwrite: bool) -> "BatchWriter":
        from kafkaesque.pipelines.lake.options import write_options
        from kafkaesque.pipelines.lake.writer import BatchWriter

        return BatchWriter(write_options(self.options), schema, overwrite)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "StreamWriter":  # noqa: N802
        from kafkaesque.pipelines.lake.options import write_options
        from kafkaesque.pipelines.lake.writer import StreamWriter

        return StreamWriter(write_options(self.options), schema)
