"""A server with the page and made-up answers, for what a small model on one drive cannot show.

The last word of a message says what happens: "queue", "think", "markdown", "full", "break" or
"hang". Run as a program it serves until it is interrupted, to work on the page.
"""

import argparse
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Iterator
from urllib.parse import urlsplit

from fake_live import Json, live

TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
}
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
KEY = 'right'

THOUGHTS = 'The question is about panels.\nFirst what they are, then a table.\n' * 6
MARKDOWN = Path(__file__).with_name('answer.md').read_text()


def delta(**members: str) -> Json:
    return {'choices': [{'index': 0, 'delta': members, 'finish_reason': None}]}


def pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), 6):
        yield text[at : at + 6]


class FakeHandler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = 'HTTP/1.1'
    server: 'FakeServer'

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == '/' or path.startswith('/web/'):
            self.send_file('index.html' if path == '/' else path.removeprefix('/web/'))
        elif self.refused():
            pass
        elif path == '/v1/models':
            self.send_json(
                {'object': 'list', 'data': [{'id': 'kimi-k3', 'max_model_len': 131_072}]}
            )
        elif path == '/sluice/live':
            self.send_json(live(self.server.first_seconds + time.monotonic() - self.server.started))
        else:
            self.send_error_json(404, 'nothing here')

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        self.server.requests.append(request)
        kind = request['messages'][-1]['content'].split()[-1]
        if self.refused():
            return
        if kind == 'full':
            self.send_error_json(429, 'The queue is full: 16 requests wait.', {'Retry-After': '3'})
            return
        self.begin('text/event-stream; charset=utf-8')
        try:
            self.stream(kind)
            self.wfile.write(b'0\r\n\r\n')
        except (BrokenPipeError, ConnectionResetError):
            self.server.cancelled.set()

    def stream(self, kind: str) -> None:
        self.event(delta(role='assistant', content=''))
        if kind == 'queue':
            self.wait_in_queue()
        if kind == 'think':
            for piece in pieces(THOUGHTS):
                self.event(delta(reasoning_content=piece))
            self.server.go_on.wait(20)
        for piece in pieces(
            MARKDOWN if kind == 'markdown' else 'Nine words that come one after the other here.'
        ):
            self.event(delta(content=piece))
        while kind == 'hang':
            self.event(delta(content=' more'))
        if kind == 'break':
            self.event({'error': {'message': 'The drive nvme3n1 is gone.', 'type': 'server_error'}})
            return
        self.end_stream()

    def wait_in_queue(self) -> None:
        self.raw(': waiting, 2 ahead\n\n')
        self.server.go_on.wait(20)
        self.server.go_on.clear()
        for done in (128, 256, 512):
            self.event(
                {
                    'prompt_progress': {
                        'total': 640,
                        'cache': 128,
                        'processed': done,
                        'time_ms': 900,
                        'seconds_left': 42.0,
                    }
                }
            )
        self.server.go_on.wait(20)

    def end_stream(self) -> None:
        self.event({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]})
        self.event(
            {
                'choices': [],
                'timings': {'predicted_per_second': 1.42},
                'usage': {
                    'prompt_tokens': 640,
                    'completion_tokens': 128,
                    'prompt_tokens_details': {'cached_tokens': 512},
                    'completion_tokens_details': {'reasoning_tokens': 96},
                },
            }
        )
        self.raw('data: [DONE]\n\n')

    def event(self, chunk: Json) -> None:
        self.raw(f'data: {json.dumps(chunk)}\n\n')
        time.sleep(self.server.pause)

    def raw(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
        self.wfile.flush()

    def begin(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header('Content-Type', content_type)
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()

    def refused(self) -> bool:
        if not self.server.wants_key or self.headers.get('Authorization') == f'Bearer {KEY}':
            return False
        self.send_error_json(401, 'An API key is needed.')
        return True

    def send_file(self, name: str) -> None:
        path = self.server.page / name
        if not path.is_file():
            self.send_error_json(404, f'no file {name}')
            return
        self.send_body(
            200,
            TYPES[path.suffix],
            path.read_bytes(),
            {'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache'},
        )

    def send_json(self, value: Json) -> None:
        self.send_body(200, 'application/json', json.dumps(value).encode(), {})

    def send_error_json(
        self, status: int, message: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_body(
            status,
            'application/json',
            json.dumps({'error': {'message': message}}).encode(),
            headers or {},
        )

    def send_body(
        self, status: int, content_type: str, body: bytes, headers: dict[str, str]
    ) -> None:
        self.send_response(status)
        for name, value in {
            'Content-Type': content_type,
            'Content-Length': str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class FakeServer(ThreadingHTTPServer):
    """Tells tests what it was asked; `go_on` moves a request that waits one step on."""

    daemon_threads = True

    def __init__(self, page: Path, port: int = 0, wants_key: bool = False, pause: float = 0.01):
        super().__init__(('127.0.0.1', port), FakeHandler)
        self.page, self.wants_key, self.pause = page, wants_key, pause
        self.started, self.first_seconds = time.monotonic(), 1000.0
        self.requests: list[Json] = []
        self.go_on, self.cancelled = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_address[1]}/'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('page', type=Path, help='the folder src/server/web')
    parser.add_argument('--port', type=int, default=8081)
    arguments = parser.parse_args()
    server = FakeServer(arguments.page, arguments.port, pause=0.03)
    server.go_on.set()
    print(server.url)
    threading.Event().wait()


if __name__ == '__main__':
    main()
