"""Clients that mean no good: hostile_test.py SLUICE [CLASS...]

Without these tests the server could be held up by a client that is slow, large or broken, or be
used without the key or by a page of another site.
"""

import json
import random
import socket
import sys
import time
from typing import Any

from serving import KEY, ServerTest, main, until

HOST = b'Host: localhost\r\n'
CHAT = '/v1/chat/completions'
ASK = {'messages': [{'role': 'user', 'content': 'What is the capital of France?'}],
       'temperature': 0}
MAX_BODY = 65536

POST = b'POST / HTTP/1.1\r\n' + HOST
CHUNKED = b'Transfer-Encoding: chunked\r\n'

BROKEN = [
    (b'hello\r\n\r\n', 400),
    (b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400),  # TLS.
    (b'GET / HTTP/2.0\r\n' + HOST + b'\r\n', 505),
    (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
    (b'GET / HTTP/1.1\r\n\r\n', 400),
    (b'GET / HTTP/1.1\r\n' + HOST + HOST + b'\r\n', 400),
    (b'GET /%zz HTTP/1.1\r\n' + HOST + b'\r\n', 400),
    (b'GET /%00 HTTP/1.1\r\n' + HOST + b'\r\n', 400),
    (b'GET /\x00 HTTP/1.1\r\n' + HOST + b'\r\n', 400),
    (b'GET / HTTP/1.1\r\n' + HOST + b'X: a\x00b\r\n\r\n', 400),
    (POST + b'Content-Length: 2\r\n' + CHUNKED + b'\r\n', 400),
    (POST + b'Content-Length: 2\r\nContent-Length: 3\r\n\r\n', 400),
    (POST + b'Content-Length: -1\r\n\r\n', 400),
    (POST + CHUNKED + b'\r\nzz\r\n', 400),
    (POST + CHUNKED + b'\r\n' + b'f' * 17 + b'\r\n', 400),
    (POST + b'Transfer-Encoding: gzip\r\n\r\n', 501),
    (b'GET / HTTP/1.1\r\n' + HOST + b'X: ' + b'x' * 100_000, 431),
    (b'GET /' + b'x' * 100_000 + b' HTTP/1.1\r\n' + HOST + b'\r\n', 431),
    (POST + b'Content-Length: 99999999999\r\n\r\n', 413),
    (POST + CHUNKED + b'\r\nfffffff\r\n', 413),
    (POST + b'Content-Length: 70000\r\n\r\n' + b'x' * 70000, 413),
]


def status_of(answer: bytes) -> int:
    return int(answer.split(b' ', 2)[1]) if answer.startswith(b'HTTP/1.1 ') else 0


def read_to_end(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b''.join(parts)


class HostileTest(ServerTest):
    def connect(self) -> socket.socket:
        connection = socket.create_connection(('127.0.0.1', self.server.port), timeout=60)
        self.addCleanup(connection.close)
        return connection

    def prompt_tokens(self) -> float:
        """Of what has been answered so far."""
        return self.server.metric('vllm:prompt_tokens_total')

    def assert_lives(self) -> None:
        self.assertEqual(self.server.request('GET', '/health').status, 200)

    def status(self, method: str, path: str, headers: dict[str, str], body: Any = None) -> int:
        return self.server.request(method, path, body, headers).status


class BrokenRequests(HostileTest):
    OPTIONS = ('--max-body', MAX_BODY)

    def test_each_gets_its_status_and_the_connection_ends(self) -> None:
        for request, status in BROKEN:
            connection = self.connect()
            connection.sendall(request)
            answer = read_to_end(connection)
            self.assertEqual(status_of(answer), status, (request[:100], answer))
            error = json.loads(answer.split(b'\r\n\r\n', 1)[1])['error']
            self.assertTrue(error['message'], answer)
        self.assert_lives()

    def test_noise(self) -> None:
        noise = random.Random(1)
        for _ in range(200):
            connection = self.connect()
            connection.sendall(noise.randbytes(noise.randrange(1, 2000)))
            connection.shutdown(socket.SHUT_WR)
            self.assertEqual(status_of(read_to_end(connection)), 400)
        self.assert_lives()

    def test_bodies_that_are_no_requests(self) -> None:
        for body in (b'', b'[', b'null', b'"\xff"', b'[' * 60_000, b'{"a":' * 10_000,
                     b'{"messages": 1}' + b' ' * 60_000):
            for path in (CHAT, '/v1/completions', '/v1/messages', '/v1/responses', '/tokenize',
                         '/apply-template'):
                answer = self.server.request('POST', path, body)
                self.assertEqual(answer.status, 400, (path, body[:20], answer))
                self.assertTrue(answer.json()['error']['message'])
        self.assert_lives()


class SlowClients(HostileTest):
    def test_a_head_that_drips_is_given_up(self) -> None:
        drips = [self.connect() for _ in range(50)]
        for drip in drips:
            drip.sendall(b'GET / HTTP/1.1\r\nX: ')
            drip.setblocking(False)
        answers: dict[socket.socket, bytes] = {}
        end = time.monotonic() + 60
        while len(answers) < len(drips) and time.monotonic() < end:
            for drip in drips:
                if drip not in answers:
                    self.drip_on(drip, answers)
            self.assert_lives()
        self.assertEqual({status_of(answer) for answer in answers.values()}, {408})
        self.assertEqual(len(answers), len(drips))

    @staticmethod
    def drip_on(drip: socket.socket, answers: dict[socket.socket, bytes]) -> None:
        """Sends one more byte, or takes the answer that has come."""
        try:
            drip.send(b'x')
            answers[drip] = drip.recv(65536)
        except BlockingIOError:
            pass
        except OSError:  # Given up while the byte was under way.
            answers[drip] = b''

    def test_too_many_connections(self) -> None:
        crowd = [self.connect() for _ in range(600)]
        turned_away = crowd[540]  # Behind the limit of 512; those far behind it get no answer.
        self.assertEqual(status_of(turned_away.recv(65536)), 503)
        for connection in crowd:
            connection.close()
        until(self.answers, 'the server answers when the crowd has gone')

    def answers(self) -> bool:
        try:
            return self.server.request('GET', '/health').status == 200
        except OSError:
            return False


class WithoutTheKey(HostileTest):
    API_KEY = KEY
    ROUTES = [('POST', CHAT), ('POST', '/v1/completions'), ('POST', '/v1/responses'),
              ('POST', '/v1/messages'), ('POST', '/v1/messages/count_tokens'),
              ('POST', '/tokenize'), ('POST', '/detokenize'), ('POST', '/apply-template'),
              ('GET', '/v1/models'), ('GET', '/v1/models/nano'), ('GET', '/props'),
              ('GET', '/slots'), ('GET', '/metrics'), ('GET', '/sluice/live'), ('GET', '/nowhere'),
              ('GET', '/%2e%2e/v1/models'), ('GET', '//v1/models'), ('GET', '/web'), ('PUT', '/'),
              ('POST', '/health')]

    def test_nothing_is_reachable(self) -> None:
        before = self.prompt_tokens()
        values = ('', 'Bearer', 'Bearer wrong', f'Bearer {KEY}x', f'Bearer {KEY[:-1]}',
                  f'Basic {KEY}')
        wrong = [*({'Authorization': value} for value in values),
                 {'Authorization': '', 'x-api-key': 'wrong'},
                 {'Authorization': '', 'Cookie': f'key={KEY}'}]
        for method, path in self.ROUTES:
            for headers in wrong:
                body = ASK if method == 'POST' else None
                answer = self.server.request(method, path, body, headers)
                self.assertEqual(answer.status, 401, (method, path, headers, answer))
                self.assertNotIn(KEY.encode(), answer.body)
        self.assertEqual(self.prompt_tokens(), before)

    def test_the_key_opens_it(self) -> None:
        for headers in ({'Authorization': f'bearer {KEY}'},
                        {'Authorization': '', 'x-api-key': KEY}):
            before = self.prompt_tokens()
            self.assertEqual(self.status('POST', CHAT, headers, ASK), 200)
            self.assertGreater(self.prompt_tokens(), before)

    def test_the_page_and_the_sign_of_life_are_public(self) -> None:
        for path in ('/', '/health', '/v1/health', '/ping'):
            self.assertEqual(self.status('GET', path, {'Authorization': ''}), 200)

    def test_files_of_the_machine_are_no_page(self) -> None:
        for path in ('/web/../../etc/passwd', '/web/%2e%2e/%2e%2e/etc/passwd', '/web//etc/passwd',
                     '/web/..', '/web/'):
            self.assertEqual(self.status('GET', path, {}), 404, path)


class OtherSites(HostileTest):
    def test_a_name_that_leads_here_is_no_way_in(self) -> None:
        before = self.prompt_tokens()
        for host in ('evil.example', f'evil.example:{self.server.port}', 'localhost.evil.example',
                     '127.0.0.1.evil'):
            for method, path, body in (('GET', '/', None), ('GET', '/v1/models', None),
                                       ('POST', CHAT, ASK), ('OPTIONS', CHAT, None)):
                answer = self.server.request(method, path, body, {'Host': host})
                self.assertEqual(answer.status, 403, (host, method, path))
                self.assertIn('--allow-host', answer.json()['error']['message'])
        self.assertEqual(self.prompt_tokens(), before)

    def test_a_page_of_another_site_is_no_way_in(self) -> None:
        before = self.prompt_tokens()
        attempts = [{'Origin': 'https://evil.example'}, {'Origin': 'null'},
                    {'Origin': 'http://localhost:1'}, {'Sec-Fetch-Site': 'cross-site'},
                    {'Origin': 'https://evil.example', 'Content-Type': 'text/plain'}]
        for headers in attempts:
            answer = self.server.request('POST', CHAT, ASK, headers)
            self.assertEqual(answer.status, 403, headers)
            self.assertIn('--cors', answer.json()['error']['message'])
            self.assertNotIn('access-control-allow-origin', answer.headers)
            question = headers | {'Access-Control-Request-Method': 'POST'}
            self.assertEqual(self.status('OPTIONS', CHAT, question), 403)
        self.assertEqual(self.prompt_tokens(), before)

    def test_its_own_page_is_let_in(self) -> None:
        origin = f'http://localhost:{self.server.port}'
        headers = {'Host': f'localhost:{self.server.port}', 'Origin': origin,
                   'Sec-Fetch-Site': 'same-origin'}
        before = self.prompt_tokens()
        self.assertEqual(self.status('POST', CHAT, headers, ASK), 200)
        self.assertGreater(self.prompt_tokens(), before)


class AllowedSites(HostileTest):
    OPTIONS = ('--allow-host', 'box.lan', '--cors', 'https://chat.example')

    def test_the_name_and_the_site_are_let_in(self) -> None:
        headers = {'Host': 'box.lan:8080', 'Origin': 'https://chat.example',
                   'Sec-Fetch-Site': 'cross-site'}
        answer = self.server.request('GET', '/v1/models', None, headers)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers['access-control-allow-origin'], 'https://chat.example')
        question = headers | {'Access-Control-Request-Headers': 'authorization',
                              'Access-Control-Request-Method': 'POST'}
        answer = self.server.request('OPTIONS', CHAT, None, question)
        self.assertEqual((answer.status, answer.body), (204, b''))
        self.assertEqual(answer.headers['access-control-allow-headers'], 'authorization')

    def test_others_are_not(self) -> None:
        self.assertEqual(self.status('GET', '/v1/models', {'Host': 'bax.lan'}), 403)
        self.assertEqual(self.status('POST', CHAT, {'Origin': 'https://evil.example'}, ASK), 403)


if __name__ == '__main__':
    main(sys.argv)
