"""At least once: the offset is committed after the work is done. A crash between the two repeats an order's bill.

    python3 at_least_once.py [HOST:PORT]
"""

from stage import Stage


def work(stage):
    consumer, producer = stage.consumer(), stage.producer()
    for order in stage.orders(consumer):
        producer.produce(stage.bills, order.value())
        producer.flush()
        stage.crash_at(5, order)  # not committed: the next worker begins with this order
        consumer.commit(order, asynchronous=False)
    consumer.close()


Stage(__file__, work).play("the bill of order 5 was sent and the order not yet committed", may_lose=False, may_repeat=True)
