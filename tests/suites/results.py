"""RESULTS.md: a row per suite, and below it a section per suite with a line for each test that is lost.

A run replaces the rows and sections of the suites it ran and leaves the others. The causes of what is lost are written by
hand in causes.tsv: SUITE/TEST, a tab, the cause; `*` at the end stands for any rest. Invariant: nothing that Apache Kafka
passes and we do not is left out.
"""

import datetime
import fnmatch
import re
from dataclasses import dataclass

HEAD = """# Other projects' test suites

What the test suites of Kafka's client libraries say of this broker, beside Apache Kafka 4.4.0 on one node. `make suites`
runs them and rewrites this file; CONTRIBUTING.md says how. *Bar* is what Apache Kafka passes of the tests that reach a
broker; *passed* is how many of these pass here. A test that is lost at first and passes when it is run once more by itself
counts, and is named below: these suites measure time. Each test of the bar that is lost has its cause below; what passes
here and not on Apache Kafka is named too. `streams_kill.py` runs Streams' smoke test with the broker killed in the middle.

| suite | what it is | broker tests | bar | passed | run |
|---|---|---|---|---|---|
"""

UNEXPLAINED = "not explained yet"


@dataclass
class Row:
    """What one suite came to. `expected`, `outcomes` and `again` go from test to pass, fail, timeout or skip."""

    name: str
    expected: dict
    outcomes: dict
    again: dict
    minutes: float

    def bar(self):
        return [test for test, outcome in self.expected.items() if outcome == "pass"]

    def passed_late(self):
        return [test for test in self.bar() if self.outcomes.get(test) != "pass" and self.again.get(test) == "pass"]

    def lost(self):
        return [test for test in self.bar() if "pass" not in (self.outcomes.get(test), self.again.get(test))]

    def won(self):
        return [test for test, outcome in self.outcomes.items()
                if outcome == "pass" and self.expected.get(test, "pass") != "pass"]


class Results:
    def __init__(self, path, causes, order):
        self.path = path
        self.order = order
        lines = [line for line in causes.read_text().splitlines() if line and not line.startswith("#")]
        self.causes = [tuple(line.split("\t", 1)) for line in lines]
        self.rows, self.sections = {}, {}
        self.read()

    def read(self):
        """The rows and sections that the file has already."""
        text = self.path.read_text() if self.path.exists() else ""
        table, *sections = text.split("\n## ")
        for line in table.splitlines():
            name = line.strip("| ").split(" | ")[0]
            if name in self.order:
                self.rows[name] = line
        for section in sections:
            name, _, body = section.partition("\n")
            self.sections[name.strip()] = body.strip()

    def cause(self, name, test):
        return next((cause for pattern, cause in self.causes if fnmatch.fnmatchcase(f"{name}/{test}", pattern)), None)

    def replace(self, row, what):
        """Takes in one suite's outcome and writes the file; gives back the tests lost without a cause."""
        bar, lost = row.bar(), row.lost()
        today = datetime.date.today().isoformat()
        self.rows[row.name] = (f"| {row.name} | {what} | {len(row.expected)} | {len(bar)} | {len(bar) - len(lost)} "
                               f"| {today}, {row.minutes:.0f} min |")
        lines, unexplained = [], []
        for test in lost:
            cause = self.cause(row.name, test)
            if cause is None:
                unexplained.append(f"{row.name}/{test}")
            outcome = row.again.get(test) or row.outcomes.get(test) or "not run"
            lines.append(f"- lost: `{test}` ({outcome}): {cause or UNEXPLAINED}")
        lines += [f"- passed when run once more: `{test}`" for test in row.passed_late()]
        lines += [f"- passed here, not on Apache Kafka: `{test}`" for test in row.won()]
        self.sections[row.name] = "\n".join(lines)
        self.write()
        return unexplained

    def refreshed(self, name, line):
        """A line of an earlier run, with the cause that is known by now."""
        match = re.fullmatch(r"(- lost: `(.+)` \(.*?\): )(.*)", line)
        return f"{match[1]}{self.cause(name, match[2]) or UNEXPLAINED}" if match else line

    def write(self):
        for name, section in self.sections.items():
            self.sections[name] = "\n".join(self.refreshed(name, line) for line in section.splitlines())
        rows = [self.rows[name] for name in self.order if name in self.rows]
        sections = [f"\n## {name}\n\n{self.sections[name]}\n" for name in self.order if self.sections.get(name)]
        self.path.write_text(HEAD + "\n".join(rows) + "\n" + "".join(sections))
