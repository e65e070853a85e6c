"""Programs that a run starts, each with a log of its own, and ends: only these, by their process ids."""

import os
import signal
import socket
import subprocess
import time


class Failed(Exception):
    """What a run found out, in words."""


def free_ports(count):
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(what, is_so, seconds=120, pause=0.2):
    """Waits until `is_so()` gives something true, and gives that."""
    limit = time.monotonic() + seconds
    while True:
        found = is_so()
        if found:
            return found
        if time.monotonic() > limit:
            raise Failed(f"waited {seconds} s in vain for {what}")
        time.sleep(pause)


class Program:
    """A process that runs until it is told to end."""

    def __init__(self, name, command, log, environment=None, user=None):
        self.name, self.log = name, log
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})}, start_new_session=True, user=user)

    def is_alive(self):
        return self.process.poll() is None

    def check(self):
        if not self.is_alive():
            raise Failed(f"{self.name} ended by itself: {tail(self.log)}")

    def kill(self):
        """SIGKILL: no time to write anything down."""
        if self.is_alive():
            self.process.kill()
        self.process.wait()

    def stop(self, seconds=60):
        """SIGTERM, and SIGKILL when that takes too long."""
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failed(f"{self.name} did not stop in {seconds} s")
        return self.process.returncode


def tail(path, lines=5):
    with open(path, encoding="utf-8", errors="replace") as log:
        return "\n".join(log.read().splitlines()[-lines:])


def run(command, environment=None, user=None, text=None, seconds=120):
    """Runs a command to its end and gives its output."""
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=seconds,
        env={**os.environ, **(environment or {})}, user=user)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command[:4]))} …: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
