"""Transactions: a reader sees what was committed and nothing else; offsets are committed with what was made of them.

`transact` ends transactions both ways while a reader runs, in two processes with one transactional id. That what aborted
had reached the broker shows in the offsets: the committed records have others between them. Then `copy` sends records from
one topic to another, aborts, goes on and comes back; the target must have each record once, in order.
"""

import uuid

from member import Member
from records import record
from waiting import expect, wait_for

COUNT = 20


class TransactionCheck:
    def __init__(self, bootstrap, program):
        self.bootstrap = bootstrap
        self.program = program
        self.id = uuid.uuid4().hex[:12]
        self.members = []

    def run(self):
        try:
            self.commit_and_abort()
            self.stop()
            self.copy_with_offsets()
            self.stop()
        finally:
            for member in self.members:
                member.stop()

    def commit_and_abort(self):
        topic, name = f"transactions-{self.id}", f"t{self.id}"
        self.program.create(self.bootstrap, topic, 1)
        reader = self.reader(topic)
        ends = []
        for more in (["commit", *["abort"] * self.program.aborts_at_once, "commit"], ["abort", "commit"]):
            self.program.transact(self.bootstrap, topic, name, len(ends) * COUNT, COUNT, more)
            ends += more
            self.wait_for(reader, ends.count("commit") * COUNT, f"what was committed of transactions that {ends}")
        committed = [number for index, end in enumerate(ends) if end == "commit"
                     for number in range(index * COUNT, (index + 1) * COUNT)]
        self.compare(reader, name, committed)
        between = reader.records[-1].offset - reader.records[0].offset + 1 - len(committed)
        aborted = ends.count("abort") * COUNT
        expect(between >= aborted, f"{aborted} records were sent and aborted, and the offsets leave out {between}")

    def copy_with_offsets(self):
        source, target = f"source-{self.id}", f"target-{self.id}"
        for topic in (source, target):
            self.program.create(self.bootstrap, topic, 1)
        reader = self.reader(target)
        copy = self.bootstrap, source, target, f"copiers-{self.id}", f"copier-{self.id}"
        self.program.produce(self.bootstrap, source, "s", 0, COUNT)
        self.program.copy(*copy, COUNT, "abort")
        self.program.copy(*copy, COUNT, "commit")
        self.wait_for(reader, COUNT, "the copies")
        self.program.produce(self.bootstrap, source, "s", COUNT, COUNT)
        self.program.copy(*copy, COUNT, "commit")
        self.wait_for(reader, 2 * COUNT, "the copies of what came after the offsets committed in transactions")
        self.compare(reader, "s", range(2 * COUNT))

    def reader(self, topic):
        self.members.append(Member(self.program, self.bootstrap, topic, f"{topic}-readers"))
        return self.members[-1]

    def wait_for(self, reader, count, what):
        def lacking():
            seen = len(reader.records)
            return f"{seen} of {count} came" if seen < count else None
        wait_for(what, lacking, reader.check)

    def compare(self, reader, name, numbers):
        """These records and no others, in order."""
        seen = [each.record for each in reader.records]
        expected = [self.program.sent(record(name, number)) for number in numbers]
        wrong = [each.value for each in seen if each not in expected]
        expect(not wrong, f"{len(wrong)} records came that were not committed, such as {wrong[:3]}")
        expect(seen == expected, f"came: {[each.value for each in seen]}")

    def stop(self):
        while self.members:
            member = self.members.pop()
            member.stop()
            expect(not member.failure, f"a consumer {member.failure}")
