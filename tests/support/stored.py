"""Histories of known figures: copies of a run that a suite has stored, changed as a check wants."""

import sqlite3
import uuid

OF_RESULT = ["memory", "failure", "measurement", "samples", "value", "gradient", "verdict", "phase",
             "bound", "noise", "counter", "series"]


class History:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.row_factory = sqlite3.Row
        self.started = self.db.execute("SELECT max(started) FROM run").fetchone()[0]

    def newest(self):
        return self.db.execute("SELECT id FROM run ORDER BY started DESC LIMIT 1").fetchone()[0]

    def insert(self, table, row):
        names = ", ".join(f'"{n}"' for n in row)
        places = ", ".join("?" * len(row))
        self.db.execute(f'INSERT INTO "{table}" ({names}) VALUES ({places})', list(row.values()))

    def rows(self, table, key, value):
        return [dict(r) for r in
                self.db.execute(f'SELECT * FROM "{table}" WHERE "{key}" = ?', [value])]

    def copy(self, run, seconds=1.0, share=None, commit=None, machine=None, dirty="no", options=(),
             without=(), later=60.0, change=lambda table, row: None):
        """A run like `run` with all times multiplied; returns its UUID. `change` may change a row
        before it is stored, or drop it by returning False."""
        self.started += later
        new = str(uuid.uuid4())
        row = self.rows("run", "id", run)[0]
        row.update(id=new, started=self.started, ended=self.started + 1)
        row.update(machine=machine or row["machine"])
        self.insert("run", row)
        facts = {r["key"]: r["value"] for r in self.rows("fact", "run_id", run)}
        facts.update({"git.commit": commit or "0" * 40, "git.dirty": dirty})
        for key, value in facts.items():
            self.insert("fact", {"run_id": new, "key": key, "value": value})
        for i, word in enumerate(options):
            self.insert("run_option", {"run_id": new, "position": i, "argument": word})
        for result in self.rows("result", "run_id", run):
            if result["case_id"] not in without:
                self.copy_result(result, new, seconds, share, change)
        return new

    def copy_result(self, result, run, seconds, share, change):
        old, new = result["id"], str(uuid.uuid4())
        result.update(id=new, run_id=run, started=self.started)
        change("result", result)
        self.insert("result", result)
        for table in OF_RESULT:
            for row in self.rows(table, "result_id", old):
                row["result_id"] = new
                if table == "measurement":
                    for name in ["median", "low", "high", "mean", "sd", "min", "max"]:
                        row[name] = row[name] and row[name] * seconds
                    row["share"] = share if share is not None else row["share"]
                if change(table, row) is not False:
                    self.insert(table, row)

    def commit(self, commit):
        """All runs become those of one commit."""
        self.db.execute("DELETE FROM fact WHERE key = 'git.commit'")
        self.db.execute("INSERT INTO fact SELECT id, 'git.commit', ? FROM run", [commit])

    def close(self):
        self.db.commit()
        self.db.close()
