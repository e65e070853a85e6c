"""aiokafka's producer, group consumer, admin client and transactions; see program.py."""

import asyncio
import signal

import aiokafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import program


def version():
    print(f"aiokafka {aiokafka.__version__}")


async def create(bootstrap, topic, partitions):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, int(partitions), 1)])
    finally:
        await admin.close()


async def send(producer, topic, records):
    sent = []
    for key, value, headers in records:
        encoded = [(name, text if isinstance(text, bytes) else text.encode()) for name, text in headers]
        key, value = (each if isinstance(each, bytes) else each.encode() for each in (key, value))
        sent.append(await producer.send(topic, value, key, headers=encoded))
    await asyncio.gather(*sent)


async def produce(bootstrap, topic, name, first, count):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, compression_type="gzip") as producer:
        await send(producer, topic, program.records(name, first, count))


async def transact(bootstrap, topic, name, first, count, ends):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name) as producer:
        for records, commits in program.transactions(name, first, count, ends):
            await producer.begin_transaction()
            await send(producer, topic, records)
            await end(producer, commits)


async def end(producer, commits):
    await (producer.commit_transaction() if commits else producer.abort_transaction())


class Assignment(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        program.print_assigned(each.partition for each in assigned)


def member(bootstrap, topic, group):
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest",
                                enable_auto_commit=False, isolation_level="read_committed",
                                heartbeat_interval_ms=1000)
    consumer.subscribe([topic], listener=Assignment())
    return consumer


def next_offsets(batches):
    return {partition: records[-1].offset + 1 for partition, records in batches.items()}


async def consume(bootstrap, topic, group):
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with member(bootstrap, topic, group) as consumer:
        while not stopped.is_set():
            batches = await consumer.getmany(timeout_ms=200)
            for each in (record for records in batches.values() for record in records):
                program.print_record(each.partition, each.offset, each.key, each.value, each.headers)
            if batches:
                offsets = next_offsets(batches)
                await consumer.commit(offsets)
                for partition, offset in offsets.items():
                    program.print_committed(partition.partition, offset - 1)


async def copy(bootstrap, source, target, group, id, count, end_):
    left = int(count)
    async with member(bootstrap, source, group) as consumer, \
            AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=id) as producer:
        while left > 0:
            batches = await consumer.getmany(TopicPartition(source, 0), timeout_ms=200, max_records=left)
            records = [record for records in batches.values() for record in records]
            if not records:
                continue
            await producer.begin_transaction()
            await send(producer, target, [(each.key, each.value, each.headers) for each in records])
            await producer.send_offsets_to_transaction(next_offsets(batches), group)
            await end(producer, end_ == "commit")
            if end_ != "commit":
                return
            left -= len(records)


def run(command):
    """The command without `async`, as program.py calls it."""
    def started(*arguments):
        asyncio.run(command(*arguments))
    started.__name__ = command.__name__
    return started


if __name__ == "__main__":
    program.main([version, *(run(each) for each in (create, produce, consume, transact, copy))])
