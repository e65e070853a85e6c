"""A pillion broker for one suite: a directory of its own, its first line on standard output is its address."""

import shutil
import signal
import subprocess
import time

START_S = 20
STOP_S = 30


class Broker:
    """Started when made, ended as a user would when left; its data goes unless `keep` is set, its log stays."""

    def __init__(self, pillion, directory, listen, advertised, settings, keep=False):
        self.keep = keep
        self.data = directory / "data"
        self.log = directory / "broker.log"
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
        self.command = [str(pillion), "broker", "--data-dir", str(self.data)]
        self.command += ["--listener", f"PLAINTEXT://{listen}={advertised}"] if advertised else ["--listen", listen]
        for key, value in settings.items():
            self.command += ["--set", f"{key}={value}"]
        self.start()

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"the broker does not start: {self.log.read_text()[-2000:]}")

    def stay_at_address(self):
        """Later starts listen where this one did, whatever port it found."""
        at = self.command.index("--listen") + 1
        self.command[at] = self.address

    def restart_after_a_kill(self):
        """SIGKILL, and again on the same directory and port."""
        self.process.kill()
        self.process.wait()
        self.start()

    def is_running(self):
        return self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        if not self.keep:
            shutil.rmtree(self.data, ignore_errors=True)
