"""Rows, and which of the values behind them were refused. Above: avro.py, json_rows.py."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Bytes, Mask
from kafkaesque.client.columns.errors import REASONS, ColumnsError, Fault


@dataclass(frozen=True, slots=True)
class Decoded:
    """`array` has a row for every value; those refused, and those of null values, are null."""

    array: pa.Array
    faults: Bytes
    """A Fault for each row."""
    partial: bool = False
    """Whether values may hold more than the rows show: columns were chosen, or a schema given."""

    @property
    def refused(self) -> Mask:
        refused: Mask = self.faults != Fault.NONE
        return refused

    def reason(self, index: int) -> str | None:
        return REASONS.get(Fault(int(self.faults[index])))

    def check(self) -> None:
        """Raises ColumnsError of the first row that was refused."""
        bad = np.flatnonzero(self.faults)
        if len(bad):
            index = int(bad[0])
            raise ColumnsError(index, REASONS[Fault(int(self.faults[index]))])
