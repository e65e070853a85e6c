"""A pillion of its own, in a directory of its own, on ports of its own."""

import asyncio
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request

from chromium import PATIENCE, until


class Pillion:
    """`pillion broker` or `pillion dev`, with the console beside."""

    def __init__(self, program, command="broker", *arguments):
        self.program, self.command, self.arguments = program, command, arguments

    async def __aenter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pillion-console-"))
        # PostgreSQL runs as another account where this one is root.
        self.directory.chmod(0o755)
        self.log = open(self.directory / "log", "wb")
        command = [
            self.program, self.command, "--data-dir", str(self.directory / "data"), "--listen", "127.0.0.1:0",
            "--set", "ui.listen=127.0.0.1:0", *self.arguments,
        ]
        environment = {**os.environ, "PILLION_LOG": "info", "PILLION_LOG_FORMAT": "human", "NO_COLOR": "1"}
        self.out = open(self.directory / "out", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.log, env=environment)
        self.url = await self.find("log", r"console on (http://\S+)")
        self.address = await self.find("out", r"^(127\.0\.0\.1:\d+)$")
        return self

    async def __aexit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)

    async def find(self, name, pattern):
        """What a line of the log or of standard output says."""
        def found():
            if self.process.poll() is not None:
                raise AssertionError((self.directory / "log").read_text())
            return re.search(pattern, (self.directory / name).read_text(errors="replace"), re.MULTILINE)
        return (await until(f"{pattern} in the {name}", found)).group(1)

    async def ready(self):
        """Everything serves: before, there is no outbox to write to."""
        def asked():
            try:
                return urllib.request.urlopen(self.url + "/readyz", timeout=PATIENCE).status == 200
            except urllib.error.HTTPError:
                return False
        await until("being ready", lambda: asyncio.to_thread(asked))

    def run(self, *arguments, given=""):
        """Another command of pillion's, against this one."""
        command = [self.program, *arguments, "--bootstrap", self.address]
        subprocess.run(command, input=given.encode(), check=True, timeout=PATIENCE * 2, stdout=subprocess.DEVNULL)

    async def insert(self, rows, event="OrderPlaced"):
        """Rows into the outbox of `pillion dev`."""
        url = await self.find("out", r"^PostgreSQL\s+(\S+)")
        await self.ready()
        values = ", ".join(f"(gen_random_uuid(), 'order', '{number}', '{event}', '{payload}')" for number, payload in enumerate(rows))
        statement = f"insert into outbox (id, aggregatetype, aggregateid, type, payload) values {values}"
        await asyncio.to_thread(subprocess.run, ["psql", url, "-qc", statement], check=True, timeout=PATIENCE)
