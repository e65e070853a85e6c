"""Kafka's own command-line tools, and what they must print. Each check is given a `Tools`: the tools, and where the broker is."""

import re
import uuid

from programs import run
from waiting import expect

from . import groups, load, records, topics, transactions

CHECKS = {
    "topics, configs, offsets": topics.check,
    "groups, reset in each form": groups.check,
    "a group in __consumer_offsets": groups.check_place,
    "records deleted, log directories": records.check,
    "transactions": transactions.check,
    "verifiable and performance clients": load.check,
}


class Tools:
    def __init__(self, console, bootstrap):
        self.console = console
        self.bootstrap = bootstrap

    def produce(self, topic, first, count):
        """Records `first` … `first + count - 1` of a producer called `tools`."""
        self.console.produce(self.bootstrap, topic, "tools", first, count)

    def run(self, name, *arguments, server="--bootstrap-server"):
        """What the tool `org.apache.kafka.tools.NAME` prints."""
        return run(self.console.tool(name, server, self.bootstrap, *arguments))

    def refused(self, name, *arguments):
        """What a tool says that must end with an error."""
        try:
            answer = self.run(name, *arguments)
        except RuntimeError as error:
            return str(error)
        raise AssertionError(f"this was not refused: {answer}")

    def create(self, partitions, name="tools"):
        """A topic of its own, by its name."""
        topic = f"{name}-{uuid.uuid4().hex[:12]}"
        self.run("TopicCommand", "--create", "--topic", topic, "--partitions", str(partitions), "--replication-factor", "1")
        return topic

    def offsets(self, topic, time="latest"):
        """Partition → offset."""
        lines = self.run("GetOffsetShell", "--topic", topic, "--time", time).splitlines()
        return {int(partition): int(offset) for _, partition, offset in (line.rsplit(":", 2) for line in lines)}


def expect_line(text, pattern):
    expect(any(re.fullmatch(pattern, line) for line in text.splitlines()), f"no line {pattern!r} in:\n{text}")


def table(text, *columns):
    """The rows of a table with these columns somewhere in its head, as dicts; empty where there is no such table."""
    lines = [line.split() for line in text.splitlines()]
    heads = [index for index, words in enumerate(lines) if set(columns) <= set(words)]
    if not heads:
        return []
    head = lines[heads[0]]
    return [dict(zip(head, words)) for words in lines[heads[0] + 1:] if len(words) >= len(columns)]
