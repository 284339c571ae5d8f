"""Queries that go on for a while, and a browser's questions to their dashboards over plain HTTP."""

import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

import sooner
from sooner.sources import Fixed, Pauses, paced

HOSTILE = "<img src=x onerror=alert(1)>"


def table(name: str, seed: int, rows: int) -> pa.Table:
    dice = np.random.default_rng(seed)
    return pa.table({"k": dice.integers(0, rows, rows), name: np.arange(rows), f"{name}_more": dice.random(rows)})


def slow_join(rows: int = 200_000, seconds: float = 6.0, **options: Any) -> sooner.Query:
    """Two inputs with silences, more than the memory takes."""
    pattern = Pauses(Fixed(0.7 * seconds / rows), every_rows=rows // 3, seconds=seconds / 10)
    left, right = (paced(table(name, seed, rows), pattern, seed=seed) for seed, name in enumerate(("a", "b")))
    return sooner.join(left, right, on="k", **{"memory": "4MB", "algorithm": "xjoin", **options})


def reading(query: Any) -> threading.Thread:
    """Somebody reads it, in a thread of its own."""
    thread = threading.Thread(target=lambda: [None for _ in query], daemon=True)
    thread.start()
    return thread


def ask(url: str, path: str = "", method: str = "GET", body: str = "", **headers: str) -> tuple[int, bytes]:
    """The status and all of the answer. A header without a value is left out."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, place.path + path, body=body or None, headers=named)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Page:
    """What a page gets: `about`, and state after state."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self.connection = http.client.HTTPConnection(place.netloc, timeout=30)
        self.connection.request("GET", place.path + "news")
        self._answer = self.connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.headers["Content-Type"].startswith("text/event-stream")
        self.rows: list[Any] = []
        name, self.about = self._next()
        assert name == "about"

    def news(self) -> dict[str, Any]:
        """The next state; curves are put together in `rows`."""
        name, told = self._next()
        assert name == "news"
        series = told["series"]
        self.rows = [*self.rows[: series["from"]], *series["rows"]]
        return told

    def last(self) -> dict[str, Any]:
        """The last state, when all is over."""
        while not (told := self.news())["over"]:
            pass
        self.connection.close()
        return told

    def _next(self) -> tuple[str, dict[str, Any]]:
        name = self._answer.readline().decode().removeprefix("event: ").strip()
        data = self._answer.readline().decode().removeprefix("data: ")
        assert self._answer.readline() == b"\n"
        return name, json.loads(data)
