"""Starts `sluice serve` for a test, speaks plain HTTP with it, and looks how it ends."""

import http.client
import json
import re
import signal
import subprocess
import threading
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
NANO = ROOT / 'models' / 'nano'
KEY = 'secret-of-the-tests'
START_SECONDS = 120
ANSWER_SECONDS = 200
STOP_SECONDS = 60
SANITIZER_REPORT = re.compile(r'Sanitizer|runtime error:')


@dataclass
class Answer:
    """A whole response; names of headers in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Stream:
    """A response whose events are read as they come. Closing it early disconnects."""

    def __init__(self, connection: http.client.HTTPConnection):
        self._connection = connection
        self._response = connection.getresponse()
        self.status = self._response.status
        self.headers = {name.lower(): value for name, value in self._response.getheaders()}

    def lines(self) -> Iterator[str]:
        """The lines that are not empty: data, events and comments."""
        while line := self._response.readline():
            if text := line.decode().rstrip('\r\n'):
                yield text

    def data(self) -> Iterator[Any]:
        """What the data lines hold, up to [DONE]."""
        for line in self.lines():
            if line == 'data: [DONE]':
                return
            if line.startswith('data: '):
                yield json.loads(line.removeprefix('data: '))

    def read(self) -> bytes:
        return self._response.read()

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> 'Stream':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Server:
    """`sluice serve` on a free port of the loopback interface, while it is entered."""

    def __init__(self, sluice: str, *options: Any, model: Path = NANO, key: str = ''):
        self.key = key
        keys = ('--api-key', key) if key else ()
        self._command = [sluice, 'serve', str(model), '--host', '127.0.0.1', '--port', '0', *keys,
                         *map(str, options)]
        self._errors: list[str] = []
        self._ready = threading.Event()
        self._stopping = False  # A second signal would end it at once.

    def __enter__(self) -> 'Server':
        self.process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read_errors)
        self._reader.start()
        self.url = ''
        self._ready.wait(START_SECONDS)
        match = re.search(r'listening on (http://\S+:(\d+))', self.errors())
        if not match:
            self.process.kill()
            self._reader.join()
            raise AssertionError(f'{self._command} does not listen: {self.errors()}')
        self.url, self.port = match[1], int(match[2])
        return self

    def _read_errors(self) -> None:
        for line in self.process.stderr:
            self._errors.append(line)
            if 'listening on ' in line:
                self._ready.set()
        self.process.stderr.close()
        self._ready.set()

    def errors(self) -> str:
        """What it has written to standard error."""
        return ''.join(self._errors)

    def terminate(self) -> None:
        self._stopping = True
        self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Ends it as a service manager does, unless that has been done; it must go in peace."""
        if not self._stopping:
            self.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f'the server does not end: {self.errors()}') from None
        finally:
            self._reader.join()
        assert code == 0, f'the server ended with {code}: {self.errors()}'
        assert not SANITIZER_REPORT.search(self.errors()), self.errors()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def send(self, method: str, path: str, body: Any = None,
             headers: dict[str, str] | None = None) -> http.client.HTTPConnection:
        """A connection with a request that has not been answered yet; see request()."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=ANSWER_SECONDS)
        own = {'Authorization': f'Bearer {self.key}'} if self.key else {}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            own['Content-Type'] = 'application/json'
        connection.request(method, path, body, own | (headers or {}))
        return connection

    def request(self, method: str, path: str, body: Any = None,
                headers: dict[str, str] | None = None) -> Answer:
        """`body`: bytes, or what is sent as JSON."""
        connection = self.send(method, path, body, headers)
        try:
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The JSON of an answer that must be good."""
        answer = self.request('GET', path)
        assert answer.status == 200, (path, answer)
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.request('POST', path, body)
        assert answer.status == 200, (path, answer)
        return answer.json()

    def open(self, path: str, body: Any) -> Stream:
        """An answer of which the status has come."""
        return Stream(self.send('POST', path, body))

    def stream(self, path: str, body: dict[str, Any]) -> Stream:
        """The same of a streamed answer, which must be good."""
        stream = self.open(path, body | {'stream': True})
        if stream.status != 200:
            with stream:
                raise AssertionError((path, stream.status, stream.read()))
        return stream

    def metric(self, name: str) -> float:
        """The sum of the samples of a metric; 0 when there is none yet."""
        text = self.request('GET', '/metrics?names=vllm').body.decode()
        samples = re.findall(rf'^{re.escape(name)}(?:\{{.*\}})? (\S+)$', text, re.MULTILINE)
        return sum(map(float, samples))

    def running(self) -> float:
        return self.metric('vllm:num_requests_running')

    def waiting(self) -> float:
        return self.metric('vllm:num_requests_waiting')


def until(condition: Any, what: str, seconds: float = 60) -> None:
    """Polls until the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'it never came true: {what}'
        time.sleep(0.01)


class ServerTest(unittest.TestCase):
    """The cases of a class share one server."""

    SLUICE = ''
    MODEL = NANO
    OPTIONS: tuple[Any, ...] = ()
    API_KEY = ''

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(
            # One thread, since tests run side by side.
            Server(cls.SLUICE, '--threads', 1, *cls.OPTIONS, model=cls.MODEL, key=cls.API_KEY))

    def refused(self, path: str, body: Any, param: str | None = None, code: str | None = None,
                status: int = 400) -> dict[str, Any]:
        """The error object of a request that must be refused."""
        answer = self.server.request('POST', path, body)
        self.assertEqual(answer.status, status, (body, answer))
        self.assertEqual(answer.headers['content-type'], 'application/json')
        error = answer.json()['error']
        self.assertGreaterEqual(error.keys(), {'message', 'type', 'param', 'code'})
        if param is not None:
            self.assertEqual(error['param'], param, error)
        if code is not None:
            self.assertEqual(error['code'], code, error)
        return error


def main(argv: list[str]) -> None:
    """Runs a test file: FILE SLUICE [CLASS...]."""
    ServerTest.SLUICE = argv[1]
    unittest.main(module='__main__', argv=[argv[0], *argv[2:]])
