"""Orders and a customer through the services that docker-compose.yml has brought up, and what must be seen of them.

Ports come from the environment, as run.sh sets them. Prints each trace's spans as a tree; exits with 1 and a reason
when something is missing. Standard library only.
"""

import base64
import json
import os
import secrets
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from datetime import datetime, timedelta, timezone

SHOP = f"http://127.0.0.1:{os.environ['SHOP_PORT']}"
PILLION = f"http://127.0.0.1:{os.environ['PILLION_PORT']}"
JAEGER = f"http://127.0.0.1:{os.environ['JAEGER_PORT']}/api/v3/traces"
KAFKA_PORT = int(os.environ["KAFKA_PORT"])
# Apache Kafka in place of pillion's broker: its address is not told to this machine.
IS_KAFKA = os.environ.get("BROKER", "").startswith("kafka:")
PATIENCE_S = 60
# A request to a service whose database stands still is answered within this.
FAILS_WITHIN_S = 5

# For each order: what is ordered, how its saga ends, and how many spans of each kind its trace must hold at the least:
# (service, first word or words of the span's name).
CASES = [
    (
        {"customer": "ada", "sku": "bicycle", "quantity": 1, "amountCents": 45000, "style": style},
        "COMPLETED",
        {
            ("storefront", "POST /orders"): 1,
            ("order", "POST /orders"): 1,
            ("pillion", "outbox relay"): relays,
            ("payment", "process"): 1,
            ("inventory", "process"): 1,
            ("mailer", "process"): 1,
            ("order", "process"): 1,
        },
    )
    for style, relays in (("choreographed", 4), ("orchestrated", 6))
] + [
    (
        {"customer": "ada", "sku": "unicorn", "quantity": 1, "amountCents": 45000, "style": style},
        "COMPENSATED",
        {
            ("storefront", "POST /orders"): 1,
            ("order", "POST /orders"): 1,
            ("pillion", "outbox relay"): 5,
            ("payment", "process"): 2,
            ("inventory", "process"): 1,
            ("order", "process"): 1,
        },
    )
    for style in ("choreographed", "orchestrated")
]

# The first trace people try.
REGISTRATION = {
    ("storefront", "POST /customers"): 1,
    ("customer", "POST /customers"): 1,
    ("pillion", "outbox relay"): 1,
    ("loyalty", "process"): 1,
}


def main():
    if not IS_KAFKA:
        advertised = advertised_brokers("127.0.0.1", KAFKA_PORT)
        if advertised != [("127.0.0.1", KAFKA_PORT)]:
            sys.exit(f"the listener for this machine advertises {advertised}, not 127.0.0.1:{KAFKA_PORT}")
    began = datetime.now(timezone.utc) - timedelta(minutes=1)
    places_orders(began)
    registers_a_customer(began)
    fails_while_the_database_stands_still(began)
    shows_itself()


def places_orders(began):
    placed = [(post(f"{SHOP}/orders", order), state, wanted) for order, state, wanted in CASES]
    for answer, state, _ in placed:
        wait_for(f"order {answer['orderId']} to be {state}", lambda: other_state(answer["orderId"], state))
    for (answer, state, wanted), (order, _, _) in zip(placed, CASES):
        title = f"{order['style']}, {state}: order {answer['orderId']}"
        shows_trace(title, answer["traceId"], "order", wanted, began)


def registers_a_customer(began):
    answer = post(f"{SHOP}/customers", {"name": "Ada", "email": "ada@example.org"})
    shows_trace(f"customer {answer['customerId']}", answer["traceId"], "customer", REGISTRATION, began)


def fails_while_the_database_stands_still(began):
    """500 in time, and an error with its exception in the trace."""
    trace_id = secrets.token_hex(16)
    compose("pause", "customer-db")
    try:
        asked = time.monotonic()
        status = status_of_post(
            f"{SHOP}/customers",
            {"name": "Bob", "email": "bob@example.org"},
            {"traceparent": f"00-{trace_id}-{secrets.token_hex(8)}-01"},
        )
        took = time.monotonic() - asked
    finally:
        compose("unpause", "customer-db")
    if status != 500 or took > FAILS_WITHIN_S:
        sys.exit(f"with its database paused, POST /customers answered {status} after {took:.1f} s, not 500 within {FAILS_WITHIN_S} s")
    wanted = {("storefront", "POST /customers"): 1, ("customer", "POST /customers"): 1}
    wait_for("the failed request's trace", lambda: missing(trace(trace_id, "customer", began), wanted, has_caller=True))

    def no_exception():
        failed = [span for span in trace(trace_id, "customer", began) if span["service"] == "customer" and span["error"]]
        return "" if any("timeout" in text for span in failed for text in span["exceptions"]) else f"failed: {failed}"

    wait_for("an error span with the timeout's exception", no_exception)
    print(f"\ncustomer-db paused: 500 after {took:.1f} s")
    print_tree(trace(trace_id, "customer", began))


def shows_itself():
    """Pillion's own page and metrics are there, and its connectors stream."""
    with urllib.request.urlopen(f"{PILLION}/readyz", timeout=10) as answer:
        json.load(answer)
    with urllib.request.urlopen(f"{PILLION}/metrics", timeout=10) as answer:
        metrics = answer.read().decode()
    for name in ("customer", "order", "payment", "inventory"):
        if f'connector="{name}"' not in metrics:
            sys.exit(f"/metrics tells nothing of the connector {name}")


def shows_trace(title, trace_id, service, wanted, began):
    wait_for(f"the trace {trace_id} of {title}", lambda: missing(trace(trace_id, service, began), wanted))
    spans = trace(trace_id, service, began)
    print(f"\n{title}, trace {trace_id}, {len(spans)} spans")
    print_tree(spans)


def compose(*arguments):
    subprocess.run(["docker", "compose", *arguments], check=True, capture_output=True)


def wait_for(what, lacks):
    """Asks until nothing is lacking; a question that cannot be answered yet is asked again too."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            reason = lacks()
        except (OSError, KeyError) as error:
            reason = repr(error)
        if not reason:
            return
        if time.monotonic() > deadline:
            sys.exit(f"waited {PATIENCE_S} s for {what}: {reason}")
        time.sleep(0.2)


def other_state(order_id, wanted):
    """The saga's state, if it is not the wanted one."""
    state = get(f"{SHOP}/orders/{order_id}")["saga"]["state"]
    return "" if state == wanted else f"it is {state}"


def missing(spans, wanted, has_caller=False):
    """What the trace still lacks; nothing when it is whole: every wanted span, one root, and no parent unknown. The root
    of a request that came with a caller's context has a parent that nobody recorded."""
    found = Counter()
    for span in spans:
        for service, name in wanted:
            if span["service"] == service and span["name"].startswith(name):
                found[service, name] += 1
    lacking = [f"{wanted[kind] - found[kind]} x {kind}" for kind in wanted if found[kind] < wanted[kind]]
    ids = {span["id"] for span in spans}
    orphans = [span["name"] for span in spans if span["parent"] and span["parent"] not in ids]
    roots = [span["name"] for span in spans if not span["parent"]]
    if has_caller:
        orphans, roots = [], roots + orphans
    lacking += [f"the parent of {name}" for name in orphans]
    if len(roots) != 1:
        lacking.append(f"one root instead of {roots}")
    return ", ".join(lacking)


def trace(trace_id, service, began):
    """The trace's spans, in the order they began; none if Jaeger does not have it yet. All four parameters must be there."""
    query = {
        "query.service_name": service,
        "query.start_time_min": timestamp(began),
        "query.start_time_max": timestamp(datetime.now(timezone.utc) + timedelta(minutes=1)),
        "query.num_traces": "100",
    }
    try:
        answer = get(f"{JAEGER}?{urllib.parse.urlencode(query)}")
    except urllib.error.HTTPError as error:
        if error.code == 404:  # no trace matches
            return []
        raise
    spans = []
    for resource in answer["result"]["resourceSpans"]:
        attributes = {each["key"]: each["value"] for each in resource["resource"]["attributes"]}
        of_service = attributes["service.name"]["stringValue"]
        for span in (span for scope in resource["scopeSpans"] for span in scope["spans"]):
            if hexadecimal(span["traceId"]) == trace_id:
                spans.append(
                    {
                        "service": of_service,
                        "name": span["name"],
                        "id": hexadecimal(span["spanId"]),
                        "parent": hexadecimal(span.get("parentSpanId", "")),
                        "links": len(span.get("links", [])),
                        "start": int(span["startTimeUnixNano"]),
                        "end": int(span["endTimeUnixNano"]),
                        "error": span.get("status", {}).get("code") in (2, "STATUS_CODE_ERROR"),
                        "exceptions": [
                            str(attribute["value"].get("stringValue"))
                            for event in span.get("events", [])
                            for attribute in event.get("attributes", [])
                        ],
                    }
                )
    return sorted(spans, key=lambda span: span["start"])


def print_tree(spans):
    first = spans[0]["start"]

    def branch(parent, depth):
        for span in (span for span in spans if span["parent"] == parent):
            began, took = (span["start"] - first) / 1e6, (span["end"] - span["start"]) / 1e6
            link = "  (linked)" if span["links"] else ""
            error = "  ERROR" if span["error"] else ""
            print(f"{began:9.1f} ms {took:8.1f} ms  {'  ' * depth}{span['name']} [{span['service']}]{link}{error}")
            branch(span["id"], depth + 1)

    ids = {span["id"] for span in spans}
    for root in sorted({span["parent"] for span in spans} - ids):
        branch(root, 0)


def hexadecimal(id_text):
    """Ids are hexadecimal in OTLP's JSON, base64 in plain protobuf's."""
    return id_text if len(id_text) in (0, 16, 32) else base64.b64decode(id_text).hex()


def timestamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def status_of_post(url, body, headers):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"} | headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def advertised_brokers(host, port):
    """Asks by Kafka's Metadata (version 1, of no topic) what clients of this listener are told to connect to."""
    request = struct.pack(">hhihi", 3, 1, 1, -1, 0)
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        stream = connection.makefile("rb")
        (length,) = struct.unpack(">i", stream.read(4))
        body = stream.read(length)
    (count,) = struct.unpack_from(">i", body, 4)
    brokers, at = [], 8
    for _ in range(count):
        (host_length,) = struct.unpack_from(">h", body, at + 4)
        name = body[at + 6 : at + 6 + host_length].decode()
        at += 6 + host_length
        broker_port, rack_length = struct.unpack_from(">ih", body, at)
        at += 6 + max(rack_length, 0)
        brokers.append((name, broker_port))
    return brokers


main()
