"""Waiting for what must come, and saying what did not."""

import time

PATIENCE_S = 90


def expect(is_so, otherwise):
    if not is_so:
        raise AssertionError(otherwise)


def wait_for(what, lacking, meanwhile=lambda: None, patience_s=PATIENCE_S):
    """Until `lacking` gives back nothing; what it gives back says what is not there yet."""
    deadline = time.monotonic() + patience_s
    while reason := lacking():
        meanwhile()
        expect(time.monotonic() < deadline, f"waited {patience_s} s for {what}: {reason}")
        time.sleep(0.02)
