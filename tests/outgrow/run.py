#!/usr/bin/env python3
"""A service outgrows one machine: its outbox connector moves from pillion's broker to three nodes of Apache Kafka.

The same connector publishes to pillion's broker first; then, with nothing changed but the address (and, with
--secured, TLS and a password), to the cluster, while the services go on writing. There leaders are killed and started
again under load: those of a topic, of the connector's progress, of its transactions; and the connector itself. A reader
of committed records must see every committed event once, keys in order, across the move and all kills.

    KAFKA_RUN=/opt/kafka/bin/kafka-run-class.sh tests/outgrow/run.py [--secured] [--rounds N] [PILLION]

KAFKA_RUN is a command that runs a class out of Kafka's jars. PILLION is the program, target/debug/pillion by default.
Needs PostgreSQL's initdb, postgres and psql, openssl with --secured, and 2 GB of memory. KEEP=1 leaves the logs.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time

from kafka import Cluster
from postgres import Postgres, Writer
from processes import Failed, Program, run, wait_for
from reading import TOPICS, check, events

WRITERS = 4
PARTITIONS = 6


class Run:
    """One run and what it started."""

    def __init__(self, pillion, folder, secured, per_second):
        self.pillion, self.folder, self.per_second = pillion, folder, per_second
        self.postgres = Postgres(folder)
        self.cluster = Cluster(folder, secured)
        self.broker, self.connector, self.writers = None, None, []
        self.started = time.monotonic()

    def say(self, text):
        print(f"{time.monotonic() - self.started:7.1f} s  {text}", flush=True)

    def start_broker(self):
        log = f"{self.folder}/pillion-broker.log"
        self.broker = Program("pillion broker", [
            self.pillion, "broker", "--data-dir", f"{self.folder}/pillion", "--listen", "127.0.0.1:0",
            "--set", "log.min.free.bytes=0"], log)
        # The address is the first line on standard output.
        def address():
            self.broker.check()
            with open(log, encoding="utf-8") as output:
                return next((line.strip() for line in output if line.startswith("127.0.0.1:")), None)
        return wait_for("pillion's broker to listen", address, 60)

    def start_connector(self, bootstrap, environment=None, adopt=False):
        command = [self.pillion, "cdc", "--postgres", self.postgres.url, "--bootstrap", bootstrap, "--auto-init",
                   "--set", f"topic.creation.default.partitions={PARTITIONS}"]
        command += ["--set", "adopt.slot=true"] if adopt else []
        self.connector = Program("the connector", command, f"{self.folder}/connector.log", environment)

    def start_writers(self):
        self.writers = [Writer(self.postgres, f"writer{at}", 25, self.per_second / WRITERS) for at in range(WRITERS)]
        for writer in self.writers:
            writer.start()

    def describe(self, topics, bootstrap=None, environment=None):
        output = run([self.pillion, "topic", "describe", *topics, "--json", "-b", bootstrap or self.cluster.bootstrap],
                     self.cluster.environment() if environment is None else environment)
        return [partition for topic in json.loads(output) for partition in topic["partitions"]]

    def ends(self, bootstrap=None, environment=None):
        """Sum of the topics' end offsets; 0 while they cannot be told."""
        self.connector.check()
        try:
            partitions = self.describe(TOPICS, bootstrap, environment)
            return sum(partition["endOffset"] or 0 for partition in partitions)
        except (Failed, TypeError):
            return 0

    def progress_topic(self):
        output = run([self.pillion, "topic", "list", "--json", "-b", self.cluster.bootstrap],
                     self.cluster.environment())
        names = [topic["name"] for topic in json.loads(output)]
        return next(name for name in names if name.startswith("__pillion-progress-"))

    def kill_leader(self, topics):
        """Kills the node that leads most of these, and starts it again once events flow without it."""
        leaders = [partition["leader"] for partition in self.describe(topics)]
        node = max(set(leaders), key=leaders.count)
        before, killed = self.ends(), time.monotonic()
        self.cluster.kill(node)
        # Ten transactions' worth: what was on its way at the kill does not count.
        wait_for("events to flow again", lambda: self.ends() > before + 100, 120)
        self.say(f"node {node}, leader of {topics[0]}, killed; 100 events later after "
                 f"{time.monotonic() - killed:.1f} s")
        self.cluster.start(node)
        wait_for("all replicas in sync", self.in_sync, 240, 1)

    def in_sync(self):
        self.connector.check()
        try:
            partitions = self.describe([*TOPICS, "__transaction_state", self.progress_topic()])
        except Failed:
            return False
        return all(len(partition["inSyncReplicas"]) == 3 for partition in partitions)

    def end(self):
        for writer in self.writers:
            writer.ending.set()
        for program in (self.connector, self.broker):
            if program:
                program.kill()
        self.cluster.stop_all()
        self.postgres.stop()


def scenario(this, rounds):
    address = this.start_broker()
    this.start_connector(address)
    wait_for("a slot", lambda: this.postgres.query("SELECT 1 FROM pg_replication_slots WHERE active"), 60)
    this.start_writers()
    wait_for("events by pillion's broker", lambda: this.ends(address, {}) > 500, 120)
    this.cluster.start_all()
    environment = this.cluster.environment()
    listing = [this.pillion, "topic", "list", "--timeout", "3", "-b"]
    def answers(one):
        try:
            return run([*listing, one], environment) is not None
        except Failed:
            return False
    this.cluster.wait(answers)

    this.connector.check()
    this.connector.stop()
    first = events(this.pillion, address, {})
    this.say(f"{len(first)} events by pillion's broker; the connector moves to {this.cluster.bootstrap}")
    this.start_connector(this.cluster.bootstrap, environment, adopt=True)
    wait_for("events in the cluster", lambda: this.ends() > 200, 120)

    targets = [[TOPICS[0]], ["__transaction_state"], [this.progress_topic()]]
    for turn in range(rounds):
        this.kill_leader(targets[turn % len(targets)])
        if turn % 2 == 1:
            this.connector.kill()
            this.start_connector(this.cluster.bootstrap, environment)
            before = this.ends()
            wait_for("the connector to go on", lambda: this.ends() > before + 100, 120)
            this.say("connector killed and started again")
    for writer in this.writers:
        writer.finish()

    rows = this.postgres.query("SELECT id FROM outbox")
    wait_for("the last events", lambda: len(events(this.pillion, this.cluster.bootstrap, environment))
             >= len(rows) - len(first), 180, 3)
    code = this.connector.stop()
    if code != 0:
        raise Failed(f"the connector ended with {code}")
    second = events(this.pillion, this.cluster.bootstrap, environment)
    check(rows, first + second)
    this.say(f"{len(rows)} events: {len(first)} by pillion's broker, {len(second)} by the cluster; "
             "each once, keys in order")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--secured", action="store_true", help="clients use TLS and SCRAM-SHA-512")
    parser.add_argument("--rounds", type=int, default=4, help="leaders to kill, one after the other (4)")
    parser.add_argument("--per-second", type=float, default=200, help="transactions the writers try (200)")
    parser.add_argument("pillion", nargs="?", default=os.path.join(
        os.environ.get("CARGO_TARGET_DIR", "target"), "debug", "pillion"))
    arguments = parser.parse_args()
    if "KAFKA_RUN" not in os.environ:
        sys.exit("KAFKA_RUN is not set: a command that runs a class out of Kafka's jars, as bin/kafka-run-class.sh")
    if not os.path.exists(arguments.pillion):
        sys.exit(f"{arguments.pillion} is not there: cargo build --package pillion, or name the program")
    folder = tempfile.mkdtemp(prefix="pillion-outgrow-")
    os.chmod(folder, 0o755)
    outcome, this = 1, None
    try:
        this = Run(os.path.abspath(arguments.pillion), folder, arguments.secured, arguments.per_second)
        scenario(this, arguments.rounds)
        outcome = 0
    except Failed as failure:
        print(f"outgrow: {failure}", file=sys.stderr)
    finally:
        if this:
            this.end()
        if outcome or os.environ.get("KEEP"):
            print(f"left in {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(outcome)


if __name__ == "__main__":
    main()
