"""`pillion demo` as a newcomer sees it: the trace view in a browser, with every service in the order's trace.

    python3 tests/browser/traces.py PILLION [SCREENSHOTS]

PILLION is the binary, with the example services beside it; pictures go to the directory SCREENSHOTS, if one is given.
"""

import html
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import browser

PATIENCE_S = 180
# Those that every order's trace passes through: the last two hear of it when its mail is sent.
SERVICES = {"storefront", "order", "pillion", "payment", "inventory", "mailer", "loyalty", "customer"}


class Demo:
    """A running demo; its page's address comes from what it prints."""

    def __init__(self, pillion):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PILLION_"))}
        self.lines = []
        self.process = subprocess.Popen(
            [pillion, "demo"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def printed(self, pattern):
        def look():
            if self.process.poll() is not None:
                raise SystemExit("the demo ended by itself:\n" + "".join(self.lines))
            return next((found for found in map(re.compile(pattern).search, list(self.lines)) if found), None)
        return wait_for(f"the demo to print {pattern}", look, self).group(1)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(PATIENCE_S)
        assert status == 0, "".join(self.lines)


def wait_for(what, look, demo):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.1)
    raise SystemExit(f"waited {PATIENCE_S} s for {what}:\n" + "".join(demo.lines))


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def field(number, payload):
    """A length-delimited protobuf field shorter than 128 bytes twice over: enough for one span by hand."""
    length = len(payload)
    size = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([number << 3 | 2]) + size + payload


def send_span(base, trace_id, name):
    span = field(1, trace_id) + field(2, b"\x01" * 8) + field(5, name.encode())
    service = field(1, field(1, b"service.name") + field(2, field(1, b"<u>svc</u>")))
    request = field(1, field(1, service) + field(2, field(2, span)))
    post = urllib.request.Request(
        f"{base}/v1/traces", data=request, headers={"content-type": "application/x-protobuf"}, method="POST")
    urllib.request.urlopen(post, timeout=10).close()


def check_order(base, pictures):
    def look():
        # A span is sent when it ends: the trace is whole when no parent is missing.
        for one in fetch(f"{base}/api/traces"):
            if not one["rootName"].startswith("POST /orders"):
                continue
            trace = fetch(f"{base}/api/traces/{one['traceId']}")
            known = {span["spanId"] for span in trace["all"]}
            roots = [span for span in trace["all"] if span["parentSpanId"] not in known]
            if len(roots) == 1 and SERVICES <= set(trace["services"]):
                return trace
        return None
    trace = wait_for("an order's whole trace", look, DEMO)
    listed = browser.dom(f"{base}/traces")
    assert f'href="/traces/{trace["traceId"]}"' in listed and "POST /orders" in listed, listed
    link = next(span for span in trace["all"] if span["links"])
    page = f"{base}/traces/{trace['traceId']}#{link['spanId']}"
    shown = browser.dom(page)
    services = {html.unescape(name) for name in re.findall(r'data-service="([^"]*)"', shown)}
    assert set(trace["services"]) <= services, (services, trace["services"])
    assert shown.count('class="row') >= len(trace["all"]), "every span has its row"
    assert f'id="details-{link["spanId"]}"' in shown and "messaging.destination.name" in shown, "the span named is open"
    if pictures:
        browser.screenshot(f"{base}/traces", f"{pictures}/list.png")
        browser.screenshot(page, f"{pictures}/trace.png", height=1400)
        browser.screenshot(page, f"{pictures}/trace-dark.png", height=1400, dark=True)
        browser.screenshot(page, f"{pictures}/trace-phone.png", width=500, height=1400)
    return trace


def check_hostile(base):
    """A span's texts are shown as they are and run nothing."""
    trace_id = bytes([0xAB]) * 16
    send_span(base, trace_id, "<img src=x onerror=document.title='pwned'>")
    shown = browser.dom(f"{base}/traces/{trace_id.hex()}")
    assert "&lt;img src=x" in shown and "<img" not in shown, shown
    assert "&lt;u&gt;svc&lt;/u&gt;" in shown and "<u>" not in shown, shown


def main():
    global DEMO
    pillion, pictures = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else None)
    if pictures:
        os.makedirs(pictures, exist_ok=True)
    browser.find()
    DEMO = Demo(pillion)
    try:
        base = DEMO.printed(r"(http://127\.0\.0\.1:\d+)/traces")
        trace = check_order(base, pictures)
        check_hostile(base)
    finally:
        DEMO.stop()
    print(f"the trace view shows {trace['spans']} spans of {', '.join(trace['services'])}")


main()
