"""Runs other projects' test suites against a pillion it starts, and rewrites RESULTS.md with what they said.

    SUITES=path/to/suite tests/suites/run.py PILLION [NAME...]

PILLION is the program, NAME one of the suites below (all of them if none is given). SUITES is a program that fetches and
runs the suites; beside it lies `baseline/NAME.txt`, what Apache Kafka scored. It is asked for

    $SUITES list                              a line per suite: NAME and what it is
    $SUITES install NAME
    $SUITES run NAME --bootstrap HOST:PORT [--only TEST...]      a line per test: NAME/TEST RESULT SECONDS

Each suite gets a broker of its own, on an empty directory, with the settings that the suite wants. What is lost is run
once more by itself, for these tests measure time and two cores are few. Only the suites named are run and replaced in
RESULTS.md. causes.tsv says why a test is lost: a test that is lost without a cause there makes the exit code 1.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from broker import Broker
from results import Results, Row

HERE = Path(__file__).resolve().parent
# What all suites want; many have members whose sessions are shorter than Kafka's least. A disk that is nearly full is not
# what they are about.
EVERYWHERE = {"num.partitions": "4", "auto.create.topics.enable": "true", "node.id": "0",
              "group.min.session.timeout.ms": "1000", "log.min.free.bytes": "0"}
# Suite → (listen at, advertise, settings besides). Port 9092 where a suite knows no other.
SUITES = {
    "kafka-python": ("127.0.0.1:0", None, {}),
    "rskafka": ("127.0.0.1:0", None, {}),
    "rdkafka": ("127.0.0.1:9092", None, {"num.partitions": "3"}),
    "franz-go": ("127.0.0.1:0", None, {}),
    "java-tools": ("127.0.0.1:0", None, {}),
    "librdkafka": ("127.0.0.1:0", None, {}),
    "librdkafka-noautocreate": ("127.0.0.1:0", None, {"auto.create.topics.enable": "false"}),
    "kafka-go": ("127.0.0.1:9092", "localhost:9092", {"node.id": "1", "group.min.session.timeout.ms": "6000",
                                                      "group.initial.rebalance.delay.ms": "3000"}),
    "streams": ("127.0.0.1:0", None, {}),
}
# These tests want another broker than the rest of their suite: suite → (tests, settings besides).
APART = {"rskafka": (["client::test_non_existing_partition"], {"auto.create.topics.enable": "false"})}
# Not asked of us: the suite's own baseline leaves it out.
ONLY = {"streams": ["exactly_once_v2"]}


def run(suites, pillion, name, only, settings, directory):
    """Runs a suite or some of its tests on a fresh broker; gives back what each test came to."""
    listen, advertised, besides = SUITES[name]
    with Broker(pillion, directory, listen, advertised, {**EVERYWHERE, **besides, **settings}) as broker:
        address = advertised or broker.address
        command = [suites, "run", name, "--bootstrap", address, *(["--only", *only] if only else [])]
        outcomes = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                print(line, end="", flush=True)
                if match := re.match(rf"{re.escape(name)}/(\S+) (pass|fail|skip|timeout) ", line):
                    outcomes[match[1]] = match[2]
        if not broker.is_running():
            raise SystemExit(f"the broker ended while {name} ran; see {broker.log}")
        return outcomes


def baseline(suites, name):
    """Test → what it came to on Apache Kafka."""
    lines = (Path(suites).parent / "baseline" / f"{name}.txt").read_text().splitlines()
    rows = (line.removeprefix(f"{name}/").split()[:2] for line in lines if not line.startswith("#"))
    return dict(rows)


def score(suites, pillion, name, directory):
    """Runs one suite, what is lost twice; gives back its row for RESULTS.md."""
    print(f"== {name}", flush=True)
    expected = baseline(suites, name)
    started = time.monotonic()
    outcomes = run(suites, pillion, name, ONLY.get(name, []), {}, directory / name)
    if not outcomes:
        subprocess.run([suites, "install", name], check=True)
        outcomes = run(suites, pillion, name, ONLY.get(name, []), {}, directory / name)
    if name in APART:
        tests, settings = APART[name]
        outcomes |= run(suites, pillion, name, tests, settings, directory / f"{name}-apart")
    lost = [test for test, outcome in expected.items() if outcome == "pass" and outcomes.get(test) != "pass"]
    again = {}
    if lost:
        print(f"== {name}: {len(lost)} once more", flush=True)
        again = run(suites, pillion, name, sorted({test.split("/")[0] for test in lost}), {}, directory / f"{name}-again")
    return Row(name, expected, outcomes, again, minutes=(time.monotonic() - started) / 60)


def main():
    suites = os.environ.get("SUITES")
    if not suites or not os.access(suites, os.X_OK):
        raise SystemExit("SUITES names no program. It must be one that fetches and runs the suites, with `list`, `install NAME`"
                         " and\n`run NAME --bootstrap HOST:PORT`, and have baseline/NAME.txt beside it:\n"
                         "    make suites SUITES=path/to/suite")
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    pillion, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(SUITES)
    if unknown := set(names) - set(SUITES):
        raise SystemExit(f"there is no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    suites = str(Path(suites).resolve())
    directory = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")).resolve() / "suites"
    listed = subprocess.run([suites, "list"], check=True, capture_output=True, text=True).stdout
    what = {words[0]: words[1] for words in (line.split(maxsplit=1) for line in listed.splitlines())}
    results = Results(HERE / "RESULTS.md", HERE / "causes.tsv", list(SUITES))
    unexplained = []
    for name in names:
        unexplained += results.replace(score(suites, pillion, name, directory), what.get(name, name))
    for test in unexplained:
        print(f"lost, and no cause in causes.tsv: {test}", file=sys.stderr)
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
