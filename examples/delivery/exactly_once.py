"""Exactly once: bill and offset are committed in one transaction. A crash before its end leaves neither.

    python3 exactly_once.py [HOST:PORT]
"""

from confluent_kafka import TopicPartition

from stage import Stage


def work(stage):
    consumer, producer = stage.consumer(), stage.producer(transactional_id=f"biller-{stage.group}")
    producer.init_transactions()  # aborts what a worker before this one left open, and shuts that one out
    for order in stage.orders(consumer):
        producer.begin_transaction()
        producer.produce(stage.bills, order.value())
        producer.send_offsets_to_transaction(
            [TopicPartition(order.topic(), order.partition(), order.offset() + 1)], consumer.consumer_group_metadata())
        producer.flush()
        stage.crash_at(5, order)  # the bill is in the log, as part of a transaction that never commits
        producer.commit_transaction()
    consumer.close()


Stage(__file__, work).play("bill and offset of order 5 were sent and not yet committed", may_lose=False, may_repeat=False)
