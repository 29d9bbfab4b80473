"""Histories as large as a test needs them: copies of the rows of one real result, with keys, times, commits,
machines, outcomes and figures of their own."""

import contextlib
import random
import sqlite3
import struct

SAMPLES = 30


def uuid(source):
    bits = f"{source.getrandbits(128):032x}"
    return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-8{bits[17:20]}-{bits[20:]}"


class Maker:
    """Adds to the history `path`, one transaction until commit(). In the history `like` a suite has stored a
    case named `timed`; it may be the same."""

    def __init__(self, path, like, seed=1):
        self.source = random.Random(seed)
        self.database = sqlite3.connect(like)
        self.database.row_factory = sqlite3.Row
        self.like_run = self._rows("run")[0]
        self.like_facts = [f for f in self._rows("fact") if f["key"] not in ("git.commit", "hostname")]
        self.like_case = self._rows("test_case", "id LIKE '%timed%'")[0]
        self.like_axis = self._rows("axis", "case_id LIKE '%timed%'")[0]
        self.like = {"result": self._rows("result", "case_id LIKE '%timed%'")[:1]}
        for table, most in (("memory", 1), ("measurement", 1), ("samples", 1), ("noise", 4)):
            self.like[table] = self._rows(table, f"result_id = '{self.like['result'][0]['id']}'")[:most]
        own = {"result_id": "", "position": 0}
        self.like["value"] = [{**own, "name": "auc", "unit": "", "value": 0.97}]
        self.like["verdict"] = [{**own, "kind": "max_latency", "name": "nap", "allowed": 0.1, "met": "met",
                                 "measured": 0.05, "low": 0.05, "high": 0.05, "distance": 0.5}]
        self.like["failure"] = [{**own, "cause": "budget", "message": "nap: at most 100 ms: 130 ms"}]
        self.database.close()
        self.database = sqlite3.connect(path)
        self.database.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")

    def _rows(self, table, where="1"):
        return [dict(row) for row in self.database.execute(f"SELECT * FROM {table} WHERE {where}")]

    def _insert(self, table, rows):
        if rows:
            names = list(rows[0])
            self.database.executemany(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                ([row[name] for name in names] for row in rows))

    def case(self, name, n, tags="perf", device=""):
        path = name.split("::")
        key = f"{name}[n={n}]"
        self._insert("test_case", [{**self.like_case, "id": key, "test_group": path[0], "test": path[-1],
                                    "tags": tags, "device": device}])
        self._insert("axis", [{**self.like_axis, "case_id": key, "value": n}])
        return key

    def run(self, started, machine="0" * 32, commit="0" * 40, host="host", ended=600):
        """`ended`: seconds later; None: it never did."""
        run = {**self.like_run, "id": uuid(self.source), "started": started, "machine": machine,
               "ended": None if ended is None else started + ended, "exit_code": None if ended is None else 0}
        own = [{"key": "git.commit", "value": commit}, {"key": "hostname", "value": host}]
        self._insert("run", [run])
        self._insert("fact", [{**f, "run_id": run["id"]} for f in self.like_facts + own])
        return run["id"]

    def results(self, run, started, cases, failed=(), attempt=0, repeat=0):
        """A result of each case, a second after the other, with one measurement of 30 samples, a value and a
        verdict; those of `failed` with a failure."""
        rows = {name: [] for name in self.like}
        source = self.source
        for i, case in enumerate(cases):
            key = uuid(source)
            outcome = "failed" if case in failed else "passed"
            median = 1e-3 * (1 + i) * source.gauss(1, 0.01)
            samples = struct.pack(f"<{SAMPLES}d", *(median * source.gauss(1, 0.01) for _ in range(SAMPLES)))
            own = {"memory": {}, "noise": {}, "value": {"value": source.gauss(0.97, 0.001)},
                   "measurement": {"median": median, "mean": median, "low": 0.99 * median, "high": 1.01 * median,
                                   "count": SAMPLES},
                   "samples": {"seconds": samples, "cpu": None},
                   "verdict": {"met": "not met" if case in failed else "met"}}
            rows["result"].append({**self.like["result"][0], "id": key, "run_id": run, "case_id": case,
                                   "started": started + i, "outcome": outcome, "attempt": attempt,
                                   "repeat": repeat})
            if case in failed:
                own["failure"] = {}
            for table, more in own.items():
                rows[table] += [{**row, "result_id": key, **more} for row in self.like[table]]
        for table, some in rows.items():
            self._insert(table, some)

    def commit(self):
        self.database.commit()

    def close(self):
        self.database.commit()
        self.database.close()


@contextlib.contextmanager
def making(path, like, seed=1):
    maker = Maker(path, like, seed)
    try:
        yield maker
    finally:
        maker.close()
