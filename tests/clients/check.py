"""Lets clients produce to and consume from a broker, and checks what they saw. See run.sh, which starts it.

Each check makes a topic, starts the consumers as members of one group, and produces in waves until every member has
read something. Every record must come exactly once, with the key, value and headers it was sent with, in order. Then the
group ends, comes back, and must see a further wave and nothing else.
"""

import os
import sys
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import kafka_tools
from member import Member
from programs import ConsoleTools, Kcat, Program
from records import record

PATIENCE_S = 90
WAVES_MAX = 10


class Check:
    """One topic and one group. `producers` and `consumers` are programs, one process each."""

    def __init__(self, bootstrap, producers, consumers, partitions):
        self.bootstrap = bootstrap
        self.producers = producers
        self.consumers = consumers
        self.partitions = partitions
        self.topic = f"clients-{uuid.uuid4().hex[:12]}"
        self.group = f"{self.topic}-readers"
        self.produced = 0
        self.members = []

    def run(self):
        self.producers[0].create(self.bootstrap, self.topic, self.partitions)
        try:
            self.consume_together()
            self.come_back()
        finally:
            for member in self.members:
                member.stop()

    def consume_together(self):
        self.start(self.consumers)
        for _ in range(WAVES_MAX):
            self.wave()
            self.wait_for("every record to come", self.missing)
            if all(member.records for member in self.members):
                break
        idle = [member.program.version() for member in self.members if not member.records]
        expect(not idle, f"{WAVES_MAX} waves, and these members saw none of it: {idle}")
        self.compare(0)
        self.stop()

    def come_back(self):
        first = self.produced
        self.start(self.consumers[:1])
        self.wave()
        self.wait_for("the records produced after the commit", lambda: self.missing(first))
        # What was read before it stands before this in every partition, so it would have come by now.
        self.compare(first)
        self.stop()

    def start(self, programs):
        self.members = [Member(program, self.bootstrap, self.topic, self.group) for program in programs]
        if all(program.prints_assignment for program in programs):
            self.wait_for("each partition to be assigned once, and some to each member", self.unassigned)

    def stop(self):
        while self.members:
            member = self.members.pop()
            member.stop()
            expect(not member.failure, f"a consumer {member.failure}")

    def wave(self):
        """Every producer sends the next records, all at the same time."""
        first, count = self.produced, self.producers[0].records_per_wave
        with ThreadPoolExecutor() as pool:
            calls = [pool.submit(program.produce, self.bootstrap, self.topic, f"p{index}", first, count)
                     for index, program in enumerate(self.producers)]
            for call in calls:
                call.result()
        self.produced += count

    def expected(self, first=0):
        """All records from number `first` on, by id."""
        return {f"p{index}-{number}": record(f"p{index}", number)
                for index in range(len(self.producers)) for number in range(first, self.produced)}

    def seen(self):
        return [each for member in self.members for each in list(member.records)]

    def missing(self, first=0):
        """What keeps the check waiting; empty when nothing does."""
        lacking = self.expected(first).keys() - {each.id for each in self.seen()}
        return f"{len(lacking)} of {self.produced} are missing, such as {sorted(lacking)[:3]}" if lacking else None

    def unassigned(self):
        each = [member.assigned or [] for member in self.members]
        together = sorted(partition for partitions in each for partition in partitions)
        is_shared = all(each) and len(together) == len(set(together)) == self.partitions
        return None if is_shared else f"assigned: {each}"

    def wait_for(self, what, lacking):
        deadline = time.monotonic() + PATIENCE_S
        while reason := lacking():
            for member in self.members:
                member.check()
            expect(time.monotonic() < deadline, f"waited {PATIENCE_S} s for {what}: {reason}")
            time.sleep(0.02)

    def compare(self, first):
        """Exactly the records from number `first` on, unchanged, in order, and keys where they belong."""
        seen, expected = self.seen(), self.expected(first)
        again = [id for id, times in Counter(each.id for each in seen).items() if times > 1]
        expect(not again, f"{len(again)} records came twice, such as {again[:3]}")
        places = {(each.partition, each.offset) for each in seen}
        expect(len(places) == len(seen), "two records have one offset")
        for each in seen:
            expect(each.id in expected, f"{each.id} came again after it was committed")
            expect(each.record == expected[each.id], f"sent {expected[each.id]}, came {each.record}")
        partitions_of_key, last = {}, {}
        for each in sorted(seen, key=lambda each: (each.partition, each.offset)):
            partitions_of_key.setdefault(each.record.key, set()).add(each.partition)
            producer, number = each.id.split("-")
            expect(int(number) > last.get((each.partition, producer), -1), f"{each.id} is out of order")
            last[each.partition, producer] = int(number)
        torn = {key: partitions for key, partitions in partitions_of_key.items() if len(partitions) > 1}
        expect(not torn, f"one key, several partitions: {torn}")
        used = {each.partition for each in seen}
        expect(len(used) > 1 and used == set(range(max(used) + 1)), f"records are in partitions {used} only")


def expect(is_so, otherwise):
    if not is_so:
        raise AssertionError(otherwise)


def report(name, what, check):
    """Runs a check, prints its line; gives back whether it passed."""
    try:
        check()
    except Exception as error:  # a client that fails must not keep the others from being tried
        print(f"{name}: {what}, fail", flush=True)
        print(f"{error}", file=sys.stderr, flush=True)
        return False
    print(f"{name}: {what}, pass", flush=True)
    return True


def programs():
    """The clients whose command run.sh has found, by the name it gives them."""
    made = {name: Program(os.environ[name].split("\n")) for name in ("PYTHON", "GO", "JAVA") if os.environ.get(name)}
    if os.environ.get("KAFKA_RUN"):
        made["KAFKA_RUN"] = ConsoleTools(os.environ["KAFKA_RUN"])
    if os.environ.get("KCAT"):
        made["KCAT"] = Kcat()
    return made


def main():
    bootstrap = sys.argv[1]
    clients = programs()
    verdicts = []
    for client in clients.values():
        check = Check(bootstrap, [client], [client, client], partitions=4)
        what = "produce, consume in a group of two with keys and headers, commit and come back"
        verdicts.append(report(client.version(), what, check.run))
    if "KAFKA_RUN" in clients:
        console = clients["KAFKA_RUN"]
        what = "topics made, listed, described, deleted; configs; offsets"
        verdicts.append(report(console.version().replace("console", "admin"), what,
                               lambda: kafka_tools.check(console, bootstrap)))
    mixed = [clients[name] for name in ("PYTHON", "JAVA", "GO") if name in clients]
    if len(mixed) > 1:
        check = Check(bootstrap, mixed, mixed, partitions=6)
        name = " + ".join(client.version() for client in mixed)
        verdicts.append(report(name, "produce to one topic at once, share its partitions in one group", check.run))
    sys.exit(0 if verdicts and all(verdicts) else 1)


if __name__ == "__main__":
    main()
