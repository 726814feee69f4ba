"""`sluice chat --url` says what `sluice chat` says, and what goes wrong has a remedy."""

import socket
import subprocess
import sys

from serving import KEY, ServerTest, main

QUESTIONS = 'What is the capital of France?\nWhat is 3 + 4?\n'


class ChatUrl(ServerTest):
    API_KEY = KEY

    def chat(self, *arguments: str, stdin: str = QUESTIONS) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.SLUICE, 'chat', *arguments], input=stdin, text=True,
                              capture_output=True, timeout=100)

    def test_a_server_says_what_the_model_here_says(self) -> None:
        for options in ((), ('--effort', 'none'), ('--temperature', '1.2', '--seed', '7'),
                        ('--stop', 'Paris'), ('--max-new', '4')):
            here = self.chat('--quiet', *options)
            there = self.chat('--url', self.server.url, '--api-key', KEY, *options)
            self.assertEqual((there.returncode, there.stdout), (0, here.stdout), there.stderr)
            self.assertEqual(there.stderr, here.stderr)

    def test_the_address_may_be_that_of_the_interface(self) -> None:
        there = self.chat('--url', self.server.url + '/v1/', '--api-key', KEY)
        self.assertIn('Paris', there.stdout)

    def test_a_refusal_leaves_the_conversation_as_it_was(self) -> None:
        done = self.chat('--url', self.server.url)
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        self.assertIn('--api-key', done.stderr)

    def test_a_server_that_is_not_there(self) -> None:
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            done = self.chat('--url', f'http://127.0.0.1:{free.getsockname()[1]}')
        self.assertEqual((done.returncode, done.stdout), (5, ''))
        self.assertIn('is the server running', done.stderr)

    def test_what_cannot_be(self) -> None:
        for arguments, word in ((('--url', 'https://127.0.0.1'), 'ssh -L'),
                                (('--url', 'localhost:80'), 'http://'),
                                (('--url', 'http://x:99999'), 'port'),
                                (('--api-key', 'k'), '--url'),
                                (('--url', self.server.url, '--stats'), '--stats'),
                                (('somewhere', '--url', self.server.url), 'MODEL')):
            done = self.chat(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ''), arguments)
            self.assertIn(word, done.stderr)


if __name__ == '__main__':
    main(sys.argv)
