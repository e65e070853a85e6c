"""A headless Chromium over its DevTools protocol: as much of it as the tests of the page need."""

import asyncio
import base64
import itertools
import json
import pathlib
import shutil
import subprocess
import tempfile

import websockets

PATIENCE = 30
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-port=0",
]
# What no page may do, noted down before any of its own scripts run.
WATCH = """
  window.violations = [];
  addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


class Chromium:
    """One browser with one page."""

    async def __aenter__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="pillion-browser-"))
        program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
        if program is None:
            raise SystemExit("chromium is not installed: apt-get install chromium python3-websockets")
        command = [program, *FLAGS, f"--user-data-dir={self.directory}", "about:blank"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self.directory / "DevToolsActivePort"
        await until("chromium starting", lambda: port.exists() and len(port.read_text().split("\n")) > 1)
        number, path = port.read_text().split("\n")[:2]
        self.socket = await websockets.connect(f"ws://127.0.0.1:{number}{path}", max_size=None)
        self.numbers, self.waiting, self.session = itertools.count(1), {}, None
        self.errors, self.requests = [], []
        self.reader = asyncio.create_task(self.read())
        target = (await self.send("Target.createTarget", url="about:blank"))["targetId"]
        self.session = (await self.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            await self.send(f"{domain}.enable")
        await self.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        await self.size(1280, 860)
        return self

    async def __aexit__(self, *_):
        self.reader.cancel()
        await self.socket.close()
        self.process.terminate()
        self.process.wait(PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)

    async def read(self):
        async for text in self.socket:
            message = json.loads(text)
            if "id" in message:
                self.waiting.pop(message["id"]).set_result(message)
                continue
            parameters = message["params"]
            match message["method"]:
                case "Runtime.exceptionThrown":
                    self.errors.append(str(parameters["exceptionDetails"]))
                case "Runtime.consoleAPICalled" if parameters["type"] == "error":
                    self.errors.append(str(parameters["args"]))
                case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                    self.errors.append(str(parameters["entry"]))
                case "Page.javascriptDialogOpening":
                    self.errors.append(f"a dialog opened: {parameters['message']}")
                    asyncio.create_task(self.send("Page.handleJavaScriptDialog", accept=True))
                case "Network.requestWillBeSent":
                    self.requests.append(parameters["request"]["url"])

    async def send(self, method, **parameters):
        number = next(self.numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        await self.socket.send(json.dumps(message))
        answer = await asyncio.wait_for(self.waiting[number], PATIENCE)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    async def evaluate(self, expression):
        result = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    async def wait(self, expression, what=None):
        """Until an expression is true; a page that is being loaded has none."""
        async def looked():
            try:
                return await self.evaluate(expression)
            except AssertionError:
                return False
        await until(what or expression, looked)

    async def open(self, url):
        await self.send("Page.navigate", url="about:blank")
        await self.send("Page.navigate", url=url)
        await self.wait("document.querySelector('main')?.dataset.state === 'shown'", f"{url} being shown")

    async def size(self, width, height):
        await self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    async def colours(self, scheme):
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    async def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        for kind in ["keyDown", "keyUp"]:
            await self.send("Input.dispatchKeyEvent", type=kind, key=key, **(text if kind == "keyDown" else {}))

    async def picture(self, path):
        shot = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=False)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))


async def until(what, is_true):
    """Waits for a condition; fails when it does not come."""
    for _ in range(PATIENCE * 20):
        answer = is_true()
        if asyncio.iscoroutine(answer):
            answer = await answer
        if answer:
            return answer
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what} did not come about within {PATIENCE} s")
