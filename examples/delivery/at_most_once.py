"""At most once: the offset is committed before the work is done. A crash between the two loses an order's bill.

    python3 at_most_once.py [HOST:PORT]
"""

from stage import Stage


def work(stage):
    consumer, producer = stage.consumer(), stage.producer()
    for order in stage.orders(consumer):
        consumer.commit(order, asynchronous=False)
        stage.crash_at(5, order)  # committed: the next worker goes on behind this order
        producer.produce(stage.bills, order.value())
        producer.flush()
    consumer.close()


Stage(__file__, work).play("order 5 was committed and its bill not yet sent", may_lose=True, may_repeat=False)
