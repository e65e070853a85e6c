"""A consumer in a group: a running process of some client, and what it has seen so far."""

import os
import signal
import subprocess
import tempfile
import threading

STOP_S = 30


class Member:
    def __init__(self, program, bootstrap, topic, group):
        self.program = program
        self.assigned = None
        self.records = []
        self.uncommitted = {}
        self.failure = None
        self.errors = tempfile.TemporaryFile("w+")
        # A group of its own: whatever starts the client gets the signal too.
        self.process = subprocess.Popen(program.member(bootstrap, topic, group), stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, start_new_session=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                kind, what = self.program.event(line.rstrip("\n")) or (None, None)
            except (TypeError, ValueError) as error:
                self.failure = f"printed {line!r}: {error}"
                continue
            if kind == "assigned":
                self.assigned = what
            elif kind == "record":
                self.records.append(what)
                if self.program.is_ours:
                    self.uncommitted[what.partition] = what.offset
            elif kind == "committed":
                partition, offset = what
                if self.uncommitted.get(partition, -1) <= offset:
                    self.uncommitted.pop(partition, None)

    def check(self):
        """Raises when the client has ended by itself, or printed what nobody understands."""
        if self.failure or self.process.poll() is not None:
            self.reader.join()
            self.errors.seek(0)
            reason = self.failure or f"ended with {self.process.returncode}"
            raise AssertionError(f"a consumer {reason}\n{self.errors.read()}")

    def stop(self):
        """Ends it as a user would: it commits and leaves its group."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.failure = f"was still there {STOP_S} s after SIGTERM"
        self.reader.join()
        self.process.stdout.close()
        self.errors.close()
