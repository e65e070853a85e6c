"""What the three programs share: ten orders, a worker that is to send a bill for each, its crash, and what came of it.

A program runs twice: as the play, which makes two topics of its own, starts the worker, sees it die, starts it again and
counts bills; and as that worker, a process of its own, for a crash ends a process: SIGKILL, with nothing tidied up.
"""

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

ORDERS = 10
WAIT_S = 30


class Stage:
    def __init__(self, program, work):
        self.program, self.work = program, work
        # A worker is started as: PROGRAM HOST:PORT NAME crashes|survives
        self.bootstrap = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9092"
        self.name = sys.argv[2] if len(sys.argv) > 2 else f"delivery-{uuid.uuid4().hex[:8]}"
        self.crashes = sys.argv[3:] == ["crashes"]
        self.orders_topic, self.bills, self.group = f"{self.name}-orders", f"{self.name}-bills", f"{self.name}-workers"

    def play(self, crash, may_lose, may_repeat):
        """Runs the play and exits: 0 if what came of it is what the program promises, and what the crash must show."""
        if len(sys.argv) > 2:
            self.work(self)
            sys.exit(0)
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(topic, 1, 1) for topic in (self.orders_topic, self.bills)]).values():
            made.result()
        producer = self.producer()
        for number in range(1, ORDERS + 1):
            producer.produce(self.orders_topic, str(number))
        producer.flush()
        print(f"{ORDERS} orders are placed; a worker bills them, and is killed when {crash}", flush=True)
        died = self.worker("crashes")
        if died != -signal.SIGKILL:
            sys.exit(f"the worker was to be killed, and ended with {died}")
        if ended := self.worker("survives"):
            sys.exit(f"the second worker was to bill the rest, and ended with {ended}")
        self.report(may_lose, may_repeat)

    def worker(self, fate):
        return subprocess.run([sys.executable, self.program, self.bootstrap, self.name, fate]).returncode

    def report(self, may_lose, may_repeat):
        bills = Counter(self.read_bills("read_committed"))
        written = Counter(self.read_bills("read_uncommitted"))
        lost = [number for number in range(1, ORDERS + 1) if bills[str(number)] == 0]
        repeated = [int(number) for number, times in bills.items() if times > 1]
        print(f"bills of a second worker and the first: {bills.total()}; lost: {lost or 'none'}; repeated: {repeated or 'none'}")
        if aborted := sorted((written - bills).elements()):
            print(f"in the log and in no transaction that committed, so only a read_uncommitted reader sees it: {aborted}")
        is_as_promised = bool(lost) == may_lose and bool(repeated) == may_repeat
        sys.exit(0 if is_as_promised else "this is not what was promised")

    def consumer(self):
        consumer = Consumer({
            "bootstrap.servers": self.bootstrap,
            "group.id": self.group,
            # A member with a name takes its place again at once, instead of waiting until the session of the dead one ends.
            "group.instance.id": "worker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        })
        consumer.subscribe([self.orders_topic])
        return consumer

    def producer(self, transactional_id=None):
        identity = {"transactional.id": transactional_id} if transactional_id else {}
        return Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, **identity})

    def orders(self, consumer):
        """Every order that the group has not committed, to the last."""
        while True:
            order = receive(consumer)
            yield order
            if order.value() == str(ORDERS).encode():
                return

    def crash_at(self, number, order):
        """As a power cut or the kernel's out-of-memory killer would."""
        if self.crashes and order.value() == str(number).encode():
            os.kill(os.getpid(), signal.SIGKILL)

    def read_bills(self, isolation):
        """The numbers of all bills in their topic, to its end."""
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"{self.group}-{isolation}", "auto.offset.reset":
                           "earliest", "isolation.level": isolation, "enable.partition.eof": True})
        reader.subscribe([self.bills])
        numbers = []
        while (bill := receive(reader, end=True)) is not None:
            numbers.append(bill.value().decode())
        reader.close()
        return numbers


def receive(consumer, end=False):
    """The next record; None at the end of the partition, if that is asked for."""
    while True:
        record = consumer.poll(WAIT_S)
        if record is None:
            sys.exit(f"nothing came in {WAIT_S} s")
        if not record.error():
            return record
        if end and record.error().name() == "_PARTITION_EOF":
            return None
        if not record.error().retriable() and record.error().name() != "_PARTITION_EOF":
            raise KafkaException(record.error())
