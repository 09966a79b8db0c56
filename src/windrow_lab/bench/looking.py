"""Something that is looked at again and again, in a thread, while a block runs."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Looking(ABC):
    """Looks every `seconds` from the beginning of a block to its end, and once more then."""

    seconds = 0.2

    def __enter__(self) -> Self:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @abstractmethod
    def look(self) -> None:
        """Take in what there is now."""

    def _run(self) -> None:
        while True:
            self.look()
            if self._ended.wait(self.seconds):
                self.look()
                return
