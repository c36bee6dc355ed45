"""Heights of many things stacked in one column, with their tops in logarithmic time.

A Fenwick tree, pure: the transcript has one entry per message here, and the scroll bar needs to
know where the 1,300th starts without adding up what is above it at every token.
"""

from __future__ import annotations

from collections.abc import Iterable


class HeightIndex:
    """A list of heights (pixels, >= 0) that also knows sums. All changes are O(log n)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights: list[int] = []
        self._tree: list[int] = [0]
        for height in heights:
            self.append(height)

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    def __setitem__(self, index: int, height: int) -> None:
        change = height - self._heights[index]
        if not change:
            return
        self._heights[index] = height
        node = index + 1
        while node < len(self._tree):
            self._tree[node] += change
            node += node & -node

    def append(self, height: int) -> None:
        """Add one below the others."""
        self._heights.append(height)
        node = len(self._heights)
        covered_from = node - (node & -node)
        total = height
        part = node - 1
        while part > covered_from:
            total += self._tree[part]
            part -= part & -part
        self._tree.append(total)

    def truncate(self, count: int) -> None:
        """Keep the first ``count``."""
        del self._heights[count:]
        del self._tree[count + 1 :]

    def top(self, index: int) -> int:
        """The sum of the heights before ``index``; ``top(len)`` is the total."""
        total = 0
        node = index
        while node > 0:
            total += self._tree[node]
            node -= node & -node
        return total

    @property
    def total(self) -> int:
        """The height of the whole column."""
        return self.top(len(self._heights))

    def find(self, y: int) -> tuple[int, int]:
        """The entry that covers ``y`` and how far into it ``y`` is.

        Above the column it is the first entry at 0, below it the last at its height. Entries
        without height are never found, except when there is nothing else.

        Raises:
            IndexError: the column is empty.
        """
        if not self._heights:
            raise IndexError("an empty column")
        rest = max(y, 0)
        index = 0
        step = 1 << (len(self._heights).bit_length() - 1)
        while step:
            node = index + step
            if node < len(self._tree) and self._tree[node] <= rest:
                index = node
                rest -= self._tree[node]
            step >>= 1
        if index == len(self._heights):
            return index - 1, self._heights[-1]
        return index, rest
