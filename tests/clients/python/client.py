"""confluent-kafka's producer, group consumer and admin client, driven from the command line by ../check.py.

    client.py version
    client.py create  BOOTSTRAP TOPIC PARTITIONS
    client.py produce BOOTSTRAP TOPIC NAME FIRST COUNT
    client.py consume BOOTSTRAP TOPIC GROUP     until SIGTERM; each batch is committed before the next is asked for

What is produced and printed is described in ../records.py.
"""

import signal
import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic


def version():
    print(f"confluent-kafka {confluent_kafka.__version__} (librdkafka {confluent_kafka.libversion()[0]})")


def create(bootstrap, topic, partitions):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, int(partitions), 1)]).values():
        made.result()


def produce(bootstrap, topic, name, first, count):
    producer = Producer({
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "compression.type": "lz4",
        "partitioner": "murmur2_random",
        "linger.ms": 1,
    })
    undelivered = []
    for number in range(int(first), int(first) + int(count)):
        producer.produce(
            topic,
            key=f"key-{number % 31}",
            value=f"value-{name}-{number}",
            headers=[
                ("id", f"{name}-{number}"),
                ("traceparent", f"00-{number + 1:032x}-{number + 1:016x}-01"),
                ("tracestate", f"test=n{number}"),
                ("step", "1"),
                ("step", "2"),
            ],
            on_delivery=lambda error, _: error and undelivered.append(error),
        )
    if producer.flush(60) or undelivered:
        sys.exit(f"not delivered: {undelivered or 'no answer in 60 s'}")


def consume(bootstrap, topic, group):
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": "range",
    })

    def assigned(_, partitions):
        print("assigned", ",".join(str(each.partition) for each in partitions), sep="\t", flush=True)

    consumer.subscribe([topic], on_assign=assigned)
    try:
        while not stopped:
            records = consumer.consume(100, 0.2)
            for record in records:
                if record.error():
                    raise KafkaException(record.error())
                headers = ",".join(f"{name}={value.decode()}" for name, value in record.headers())
                fields = record.partition(), record.offset(), record.key().decode(), record.value().decode(), headers
                print("record", *fields, sep="\t", flush=True)
            if records:
                consumer.commit(asynchronous=False)
    finally:
        consumer.close()


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"version": version, "create": create, "produce": produce, "consume": consume}[command](*arguments)
