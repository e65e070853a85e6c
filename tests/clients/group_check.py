"""A group: members come and go, and every record comes exactly once, as it was sent and in order.

One member consumes alone; others join, and each must get partitions and read something; the last leaves, and the rest must
read all. A rebalance begins only when everything read is committed, so nothing may come twice. (Where a client does not say
what it was assigned, a wave may meet a rebalance, and then records may.) Then the group ends, comes back, and must see a
further wave and nothing else. Programs that commit when they like (the console tools, kcat) start together and only come
back.
"""

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from member import Member
from records import record
from waiting import expect, wait_for

WAVES_MAX = 10


class GroupCheck:
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
        self.seen_by_others = []

    def run(self):
        self.producers[0].create(self.bootstrap, self.topic, self.partitions)
        try:
            if all(program.is_ours for program in self.consumers):
                self.consume_alone()
                self.join()
                self.leave()
            else:
                self.members = [self.member(program) for program in self.consumers]
                self.waves_until_all_have_read()
            self.compare(0)
            self.stop()
            self.come_back()
        finally:
            for member in self.members:
                member.stop()

    def consume_alone(self):
        self.members = [self.member(self.consumers[0])]
        self.wave()
        self.wait_until_read()

    def join(self):
        self.members += [self.member(program) for program in self.consumers[1:]]
        self.wait_for("each partition to be assigned once, and some to each member", self.unassigned)
        self.waves_until_all_have_read()

    def leave(self):
        leaver = self.members.pop()
        leaver.stop()
        expect(not leaver.failure, f"a consumer {leaver.failure}")
        self.seen_by_others += leaver.records
        self.wait_for("the partitions of the member that left to be assigned", self.unassigned)
        self.wave()
        self.wait_until_read()

    def come_back(self):
        first = self.produced
        self.seen_by_others = []
        self.members = [self.member(self.consumers[0])]
        self.wave()
        self.wait_until_read(first)
        # What was read before it stands before this in every partition, so it would have come by now.
        self.compare(first)
        self.stop()

    def member(self, program):
        return Member(program, self.bootstrap, self.topic, self.group)

    def stop(self):
        while self.members:
            member = self.members.pop()
            member.stop()
            expect(not member.failure, f"a consumer {member.failure}")

    def waves_until_all_have_read(self):
        joined = self.members[-1]
        for _ in range(WAVES_MAX):
            self.wave()
            self.wait_until_read()
            if all(member.records for member in self.members):
                return
        idle = [member.program.version() for member in self.members if not member.records]
        expect(not idle, f"{WAVES_MAX} waves, and these members saw none of it: {idle}; the last has {joined.assigned}")

    def wave(self):
        """Every producer sends the next records, all at the same time."""
        first, count = self.produced, self.producers[0].records_per_wave
        with ThreadPoolExecutor() as pool:
            calls = [pool.submit(program.produce, self.bootstrap, self.topic, f"p{index}", first, count)
                     for index, program in enumerate(self.producers)]
            for call in calls:
                call.result()
        self.produced += count

    def wait_until_read(self, first=0):
        self.wait_for("every record to come", lambda: self.missing(first))
        self.wait_for("what was read to be committed", self.uncommitted)

    def wait_for(self, what, lacking):
        def check_members():
            for member in self.members:
                member.check()
        wait_for(what, lacking, check_members)

    def expected(self, first=0):
        """All records from number `first` on, by id."""
        return {f"p{index}-{number}": program.sent(record(f"p{index}", number))
                for index, program in enumerate(self.producers) for number in range(first, self.produced)}

    def seen(self):
        return self.seen_by_others + [each for member in self.members for each in list(member.records)]

    def missing(self, first=0):
        """What keeps the check waiting; empty when nothing does."""
        lacking = self.expected(first).keys() - {each.id for each in self.seen()}
        return f"{len(lacking)} of {self.produced} are missing, such as {sorted(lacking)[:3]}" if lacking else None

    def uncommitted(self):
        left = [dict(member.uncommitted) for member in self.members]
        return f"last offset read, not committed: {left}" if any(left) else None

    def unassigned(self):
        if not all(member.program.prints_assignment for member in self.members):
            return None
        each = [member.assigned or [] for member in self.members]
        together = sorted(partition for partitions in each for partition in partitions)
        is_shared = all(each) and len(together) == len(set(together)) == self.partitions
        return None if is_shared else f"assigned: {each}"

    def compare(self, first):
        """Exactly the records from number `first` on, unchanged, in order, and keys where they belong."""
        seen, expected = self.seen(), self.expected(first)
        if all(program.prints_assignment or not program.is_ours for program in self.consumers):
            again = [id for id, times in Counter(each.id for each in seen).items() if times > 1]
            expect(not again, f"{len(again)} records came twice, such as {again[:3]}")
        else:
            seen = list(set(seen))
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
        self.compare_keys(partitions_of_key, {each.partition for each in seen})

    def compare_keys(self, partitions_of_key, used):
        torn = {key: partitions for key, partitions in partitions_of_key.items() if len(partitions) > 1}
        expect(not torn, f"one key, several partitions: {torn}")
        expect(len(used) > 1 and used == set(range(max(used) + 1)), f"records are in partitions {used} only")
