"""Writes an outbox and reads its events, with psycopg and confluent-kafka.

    outbox.py write POSTGRES ORDERS                  places orders; every fifth is rolled back
    outbox.py read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records

Both print `event id <tab> traceparent`: of each event committed, and of each acted upon. Without OpenTelemetry, which is
optional here, there is no traceparent.
"""

import sys
import uuid

import psycopg
from confluent_kafka import Consumer, KafkaException
from psycopg.types.json import Jsonb

try:
    from opentelemetry.sdk.trace import TracerProvider
    from trace_context import trace_context

    tracer = TracerProvider().get_tracer("example")
except ModuleNotFoundError:
    trace_context, tracer = (lambda: None), None


class SoldOut(Exception):
    pass


# region: write
def place_order(connection, order_id, in_stock):
    with connection.transaction():  # an exception rolls back: no order, no event
        connection.execute("INSERT INTO orders (id, state) VALUES (%s, 'PLACED')", [order_id])
        event_id = uuid.uuid4()
        connection.execute(
            "INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            [event_id, "order", str(order_id), "OrderPlaced", Jsonb({"order": order_id, "total": 100}), trace_context()])
        if not in_stock:
            raise SoldOut(order_id)
    return event_id
# endregion


# region: read
def read(connection, bootstrap, group, records):
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "isolation.level": "read_committed",  # librdkafka's default; Java's is read_uncommitted
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    })
    consumer.subscribe(["outbox.event.order"])
    for _ in range(records):
        record = receive(consumer)
        headers = {name: value.decode() for name, value in record.headers()}
        with connection.transaction():  # the effect and the memory of it, together
            remember = "INSERT INTO inbox (event_id) VALUES (%s) ON CONFLICT DO NOTHING"
            is_first = connection.execute(remember, [headers["id"]]).rowcount == 1
            if is_first:
                connection.execute("INSERT INTO payments (order_id) VALUES (%s)", [int(record.key())])
        consumer.commit(record, asynchronous=False)  # only then: a crash before it repeats the record
        if is_first:
            print(headers["id"], headers.get("traceparent", ""), sep="\t", flush=True)
    consumer.close()
# endregion


def receive(consumer):
    while True:
        record = consumer.poll(1.0)
        if record is None:
            continue
        if record.error() is None:
            return record
        if not record.error().retriable():
            raise KafkaException(record.error())


def write(connection, orders):
    for order_id in range(1, orders + 1):
        try:
            if tracer is None:
                print(place_order(connection, order_id, order_id % 5 != 0), "", sep="\t", flush=True)
                continue
            with tracer.start_as_current_span("place order") as span:
                event_id = place_order(connection, order_id, order_id % 5 != 0)
                context = span.get_span_context()
                traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
                print(event_id, traceparent, sep="\t", flush=True)
        except SoldOut:
            pass


def main(command, postgres, *rest):
    with psycopg.connect(postgres, autocommit=True) as connection:
        if command == "write":
            write(connection, int(rest[0]))
        else:
            bootstrap, group, records = rest
            read(connection, bootstrap, group, int(records))


main(*sys.argv[1:])
