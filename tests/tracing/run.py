"""The demo's traces through a real OpenTelemetry collector into a real Jaeger, and what becomes of them.

    JAEGER=path COLLECTOR=path python3 tests/tracing/run.py PILLION

JAEGER is a Jaeger v2 binary, COLLECTOR an OpenTelemetry collector with the otlp receiver, the otlp_grpc and file
exporters; PILLION the binary with the example services beside it. Everything listens on 127.0.0.1, on free ports.

Checked: by gRPC and by HTTP, the good order's trace and the compensated one's are whole, over every service; baggage
reaches the last record; of roots the ratio asked for is kept, each trace as a whole, and a caller's no is heeded;
metrics arrive; with the collector killed orders go on, and the programs end no later than with it.
"""

import datetime
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE_S = 120
GOOD = {"customer": "ada", "sku": "bicycle", "quantity": 1, "amountCents": 100}
BAD = {"customer": "ada", "sku": "unicorn", "quantity": 1, "amountCents": 100}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def wait_for(what, look):
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            found = look()
        except OSError:
            found = None
        if found:
            return found
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.2)


class Backend:
    """Collector and Jaeger."""

    def __init__(self, directory):
        names = ["OTLP_GRPC", "OTLP_HTTP", "JAEGER_OTLP", "JAEGER_HTTP", "JAEGER_GRPC"]
        self.ports = {name: free_port() for name in names}
        self.metrics = os.path.join(directory, "metrics.jsonl")
        self.environment = {**os.environ, **self.ports, "METRICS_FILE": self.metrics}
        self.log = open(os.path.join(directory, "backend.log"), "w")
        self.jaeger = self._start(os.environ["JAEGER"], "jaeger.yaml")
        self.collector = self._start(os.environ["COLLECTOR"], "collector.yaml")
        for name in ["OTLP_GRPC", "OTLP_HTTP", "JAEGER_OTLP", "JAEGER_HTTP"]:
            wait_for(f"port {name}", lambda: socket.create_connection(("127.0.0.1", int(self.ports[name])), 1))

    def _start(self, program, config):
        command = [program, f"--config={HERE}/{config}"]
        return subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)

    def traces(self, began):
        """Spans by trace id, as Jaeger answers; all four parameters must be there."""
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=1)
        query = urllib.parse.urlencode({
            "query.service_name": "order", "query.num_traces": "1000",
            "query.start_time_min": began.isoformat().replace("+00:00", "Z"),
            "query.start_time_max": now.isoformat().replace("+00:00", "Z")})
        url = f"http://127.0.0.1:{self.ports['JAEGER_HTTP']}/api/v3/traces?{query}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                found = json.load(answer)["result"]["resourceSpans"]
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return {}
            raise
        traces = {}
        for resource in found:
            attributes = resource["resource"]["attributes"]
            service = next(a["value"]["stringValue"] for a in attributes if a["key"] == "service.name")
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    traces.setdefault(span["traceId"], []).append((service, span))
        return traces

    def kill_collector(self):
        self.collector.kill()
        self.collector.wait()

    def stop(self):
        for process in [self.collector, self.jaeger]:
            if process.poll() is None:
                process.terminate()
                process.wait(30)


class Demo:
    """A running demo that sends its traces to the backend."""

    def __init__(self, pillion, variables):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PILLION_"))}
        self.lines = []
        self.process = subprocess.Popen(
            [pillion, "demo"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**clean, "OTEL_BSP_SCHEDULE_DELAY": "100", **variables})
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True).start()
        self.orders = self.printed(r"(http://127\.0\.0\.1:\d+/orders)")
        self.broker = self.printed(r"kcat -b (127\.0\.0\.1:\d+) -L")

    def printed(self, pattern):
        def look():
            if self.process.poll() is not None:
                raise SystemExit("the demo ended by itself:\n" + "".join(self.lines))
            return re.search(pattern, "".join(list(self.lines)))
        return wait_for(f"the demo to print {pattern}", look).group(1)

    def order(self, order, **headers):
        request = urllib.request.Request(
            self.orders, json.dumps(order).encode(), {"content-type": "application/json", **headers}, method="POST")
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def stop(self):
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(PATIENCE_S)
        assert status == 0, "".join(self.lines)
        return time.monotonic() - began


def is_whole(spans):
    """One root, no missing parent, every service."""
    known = {span["spanId"] for _, span in spans}
    roots = [span for _, span in spans if span.get("parentSpanId", "") not in known]
    return len(roots) == 1 and {"order", "pillion", "payment", "inventory"} <= {service for service, _ in spans}


def ended(spans, event):
    """Whether a trace holds the event that ends an order."""
    return any(a["key"] == "event.type" and a["value"].get("stringValue") == event
               for _, span in spans for a in span.get("attributes", []))


def check_protocol(backend, pillion, protocol):
    began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
    port = backend.ports["OTLP_GRPC" if protocol == "grpc" else "OTLP_HTTP"]
    demo = Demo(pillion, {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "500"})
    try:
        for event in ["OrderConfirmed", "OrderCancelled"]:
            trace = wait_for(f"a whole trace with {event} by {protocol}", lambda: next(
                (spans for spans in backend.traces(began).values() if is_whole(spans) and ended(spans, event)), None))
            print(f"{protocol}: the trace that ends with {event} has {len(trace)} spans")
        wanted = {"http.server.request.duration", "messaging.process.duration", "messaging.client.consumed.messages",
                  "messaging.client.operation.duration", "messaging.client.sent.messages"}
        wait_for(f"metrics by {protocol}", lambda: wanted <= metric_names(backend.metrics))
        open(backend.metrics, "w").close()
        check_baggage(demo, pillion)
    finally:
        demo.stop()


def metric_names(path):
    with open(path) as lines:
        return set(re.findall(r'"name":"([a-z_.]+)"', lines.read()))


def check_baggage(demo, pillion):
    trace_id = os.urandom(16).hex()
    headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01", "baggage": "tenant=blue"}
    order_id = demo.order(GOOD, **headers)["orderId"]

    def reached():
        command = [pillion, "consume", "outbox.event.stock", "--bootstrap", demo.broker, "--exit-at-end",
                   "--json"]
        lines = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.splitlines()
        return any(order_id in line and trace_id in line and "tenant=blue" in line for line in lines)
    wait_for("baggage in the third service's record", reached)
    print("baggage reaches the third service's record")


def check_ratio(backend, pillion):
    began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=1)
    demo = Demo(pillion, {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{backend.ports['OTLP_GRPC']}",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"})
    try:
        placed = [demo.order(GOOD)["traceId"] for _ in range(40)]
        refused = os.urandom(16).hex()
        demo.order(GOOD, traceparent=f"00-{refused}-00f067aa0ba902b7-00")
        asked_for = os.urandom(16).hex()
        demo.order(GOOD, traceparent=f"00-{asked_for}-00f067aa0ba902b7-01")

        # The one asked for came last: when it is whole the others have come, or never will.
        def look():
            found = {normal(id): spans for id, spans in backend.traces(began).items()}
            traces = {id: spans for id, spans in found.items() if id in [*placed, refused, asked_for]}
            last = traces.get(asked_for)
            return traces if last and ended(last, "OrderConfirmed") and all(map(is_whole, traces.values())) else None
        traces = wait_for("the traces that are kept", look)
        kept = sum(trace_id in traces for trace_id in placed)
        print(f"of 40 orders {kept} are kept at a ratio of 0.5, each whole")
        assert 5 <= kept <= 35, kept
        assert refused not in traces, "a caller's no is heeded"
    finally:
        demo.stop()


def normal(trace_id):
    return trace_id.lower().zfill(32)






def check_without_collector(backend, pillion):
    demo = Demo(pillion, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{backend.ports['OTLP_GRPC']}"})
    backend.kill_collector()
    seen = len(demo.lines)
    placed = [demo.order(sku)["orderId"] for sku in [GOOD, BAD] * 5]
    wait_for("orders to end without a collector", lambda: sum(
        "OrderConfirmed" in line or "OrderCancelled" in line for line in list(demo.lines)[seen:]) >= len(placed))
    took = demo.stop()
    warnings = sum("collector takes no spans" in line for line in demo.lines)
    print(f"without the collector {len(placed)} orders went through; the demo ended in {took:.1f} s, {warnings} warning")
    assert warnings <= 1, "one warning is enough:\n" + "".join(demo.lines)


def main():
    pillion = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="tracing-") as directory:
        backend = Backend(directory)
        try:
            for protocol in ["grpc", "http/protobuf"]:
                check_protocol(backend, pillion, protocol)
            check_ratio(backend, pillion)
            check_without_collector(backend, pillion)
        finally:
            backend.stop()
    print("all of it was there")


main()
