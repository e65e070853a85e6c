"""confluent-kafka's producer, group consumer, admin client and transactions; see program.py."""

import signal
import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import program


def version():
    print(f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})")


def create(bootstrap, topic, partitions):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, int(partitions), 1)]).values():
        made.result()


class Sender:
    """A producer that waits until everything is acknowledged."""

    def __init__(self, bootstrap, **config):
        config = {key.replace("_", "."): value for key, value in config.items()}
        self.producer = Producer({
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",
            "linger.ms": 1,
            **config,
        })

    def send(self, topic, records):
        undelivered = []
        for key, value, headers in records:
            self.producer.produce(topic, key=key, value=value, headers=headers,
                                  on_delivery=lambda error, _: error and undelivered.append(error))
        if self.producer.flush(60) or undelivered:
            sys.exit(f"not delivered: {undelivered or 'no answer in 60 s'}")


def produce(bootstrap, topic, name, first, count):
    Sender(bootstrap).send(topic, program.records(name, first, count))


def transact(bootstrap, topic, name, first, count, ends):
    sender = Sender(bootstrap, transactional_id=name)
    sender.producer.init_transactions(30)
    for records, commits in program.transactions(name, first, count, ends):
        sender.producer.begin_transaction()
        sender.send(topic, records)
        end(sender.producer, commits)


def end(producer, commits):
    producer.commit_transaction(30) if commits else producer.abort_transaction(30)


def member(bootstrap, topic, group):
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "partition.assignment.strategy": "range",
    })
    consumer.subscribe([topic], on_assign=lambda _, given: program.print_assigned(each.partition for each in given))
    return consumer


def poll(consumer, count):
    records = consumer.consume(count, 0.2)
    for record in records:
        if record.error():
            raise KafkaException(record.error())
    return records


def consume(bootstrap, topic, group):
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    consumer = member(bootstrap, topic, group)
    try:
        while not stopped:
            records = poll(consumer, 100)
            for each in records:
                program.print_record(each.partition(), each.offset(), each.key(), each.value(), each.headers())
            if records:
                for each in consumer.commit(asynchronous=False):
                    program.print_committed(each.partition, each.offset - 1)
    finally:
        consumer.close()


def copy(bootstrap, source, target, group, id, count, end_):
    consumer = member(bootstrap, source, group)
    sender = Sender(bootstrap, transactional_id=id)
    sender.producer.init_transactions(30)
    left = int(count)
    while left > 0:
        records = poll(consumer, left)
        if not records:
            continue
        sender.producer.begin_transaction()
        sender.send(target, [(each.key(), each.value(), each.headers()) for each in records])
        offsets = {each.partition(): each.offset() + 1 for each in records}
        sender.producer.send_offsets_to_transaction(
            [TopicPartition(source, partition, offset) for partition, offset in offsets.items()],
            consumer.consumer_group_metadata(), 30)
        end(sender.producer, end_ == "commit")
        if end_ != "commit":
            break
        left -= len(records)
    consumer.close()


if __name__ == "__main__":
    program.main([version, create, produce, consume, transact, copy])
