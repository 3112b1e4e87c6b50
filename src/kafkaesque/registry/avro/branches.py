"""The branches of a reader's union that may read what was written: by type and name, at a glance.

Unions of all the events of a topic have hundreds of branches, and as many meet them from the
writer's side: so the branches of each union are sorted into drawers once.
Above: verdicts.py. Below: resolution.py.
"""

from collections import defaultdict

from kafkaesque.registry.avro.names import split
from kafkaesque.registry.avro.nodes import Enum, Fixed, Node, Record, Union
from kafkaesque.registry.avro.resolution import may_fit


class _Drawers:
    def __init__(self, union: Union) -> None:
        self.by_name: dict[str, list[Node]] = defaultdict(list)
        self.nameless: list[Node] = []
        self.all = frozenset(union.branches)
        for branch in union.branches:
            if isinstance(branch, Record | Enum | Fixed):
                for name in {split(branch.name)[1], *branch.aliases}:
                    self.by_name[name].append(branch)
            else:
                self.nameless.append(branch)


class Branches:
    def __init__(self) -> None:
        self._drawers: dict[Union, _Drawers] = {}
        self._near: dict[tuple[Union, Node], list[Node]] = {}

    def hold(self, union: Union, node: Node) -> bool:
        return node in self._of(union).all

    def near(self, union: Union, writer: Node) -> list[Node]:
        """Those whose type and name fit."""
        key = union, writer
        if key not in self._near:
            self._near[key] = [one for one in self._drawer(union, writer) if may_fit(one, writer)]
        return self._near[key]

    def _drawer(self, union: Union, writer: Node) -> list[Node]:
        drawers = self._of(union)
        if not isinstance(writer, Record | Enum | Fixed):
            return drawers.nameless
        names = dict.fromkeys((split(writer.name)[1], writer.name))
        return list(dict.fromkeys(one for name in names for one in drawers.by_name.get(name, ())))

    def _of(self, union: Union) -> _Drawers:
        if union not in self._drawers:
            self._drawers[union] = _Drawers(union)
        return self._drawers[union]
