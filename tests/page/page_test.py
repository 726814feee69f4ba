"""The page of `sluice serve` with the small model, in a browser: page_test.py SLUICE [CLASS...]

Without these tests the server could answer programs, and leave people with a page that does not
work.
"""

import sys
import urllib.request
from typing import Any
from urllib.error import HTTPError

from browsing import WEB, Page, expect, main
from served_page import FRANCE, KEY, STORY, ServedPageTest, Server, until

PARIS = 'The capital of France is Paris.'
ITALY = 'What is the capital of Italy?'
ROME = 'The capital of Italy is Rome.'


class Files(ServedPageTest):
    def fetch(self, path: str, **headers: str) -> Any:
        try:
            return urllib.request.urlopen(urllib.request.Request(self.URL + path, headers=headers))
        except HTTPError as error:
            return error

    def test_every_file_as_it_lies_in_the_source(self) -> None:
        types = {
            '.html': 'text/html',
            '.css': 'text/css',
            '.js': 'text/javascript',
            '.svg': 'image/svg+xml',
        }
        files = sorted(WEB.iterdir())
        self.assertGreater(len(files), 10)
        for file in files:
            with self.subTest(file=file.name), self.fetch(f'/web/{file.name}') as answer:
                self.assertEqual(answer.read(), file.read_bytes())
                self.assertEqual(answer.headers.get_content_type(), types[file.suffix])
                self.assertEqual(answer.headers['X-Content-Type-Options'], 'nosniff')
                self.assertIn("default-src 'self'", answer.headers['Content-Security-Policy'])

    def test_files_that_are_known_are_not_sent_again(self) -> None:
        with self.fetch('/') as first:
            tag = first.headers['ETag']
        with self.fetch('/', **{'If-None-Match': tag}) as second:
            self.assertEqual((second.status, second.read()), (304, b''))
        with self.fetch('/', **{'If-None-Match': '"another"'}) as third:
            self.assertEqual(third.status, 200)

    def test_no_other_file_is_there(self) -> None:
        for path in (
            '/web/',
            '/web/none.js',
            '/web/../page.cpp',
            '/web/%2e%2e/page.cpp',
            '/web/web/main.js',
        ):
            with self.subTest(path=path), self.fetch(path) as answer:
                self.assertEqual(answer.status, 404)

    def test_no_file_names_another_site(self) -> None:
        for file in WEB.iterdir():
            text = file.read_text().replace('http://www.w3.org/2000/svg', '')
            self.assertNotRegex(text, r'https?://[\w]', file.name)


class Chat(ServedPageTest):
    def test_answer_and_facts(self) -> None:
        screen = self.open_greedy()
        answer = screen.ask(FRANCE)
        expect(answer).to_contain_text(PARIS)
        expect(answer).to_contain_text('tokens/s')
        facts = screen.page.locator('#facts')
        expect(facts).to_contain_text('nano')
        expect(facts).to_contain_text('40.3 million')
        expect(facts).to_contain_text('6 of 40 a token')
        expect(facts).to_contain_text('2,048 tokens')
        expect(screen.page).to_have_title('nano · Sluice')

    def test_thinking_is_folded_above_the_answer(self) -> None:
        screen = self.open_greedy('low')
        answer = screen.ask(FRANCE)
        expect(answer.locator('.markdown')).to_have_text(PARIS)
        thoughts = answer.locator('.thoughts')
        expect(thoughts).to_be_hidden()
        answer.get_by_text('Thought for').click()
        expect(thoughts).to_contain_text('The user asks')

    def test_edit_goes_on_from_there(self) -> None:
        screen = self.open_greedy()
        screen.ask(FRANCE)
        screen.settled()
        screen.ask(FRANCE)
        screen.settled()
        screen.questions.first.get_by_role('button', name='Edit').click()
        field = screen.page.get_by_label('Edit your message')
        expect(field).to_be_focused()
        field.fill(ITALY)
        field.press('Enter')
        expect(screen.answers).to_have_count(1)
        expect(screen.answers).to_contain_text(ROME)
        expect(screen.questions.locator('.bubble')).to_have_text([ITALY])

    def test_editing_can_be_given_up(self) -> None:
        screen = self.open_greedy()
        screen.ask(FRANCE)
        screen.settled()
        edit = screen.questions.get_by_role('button', name='Edit')
        edit.click()
        screen.page.keyboard.type(' No')
        screen.page.keyboard.press('Escape')
        expect(screen.questions).to_contain_text(FRANCE)
        expect(edit).to_be_focused()
        expect(screen.answers).to_contain_text(PARIS)

    def test_retry_answers_anew(self) -> None:
        screen = self.open_greedy()
        screen.ask(FRANCE)
        screen.settled()
        before = self.server.get('/sluice/live')['requests']['finished']
        screen.answers.get_by_role('button', name='Retry').click()
        until(
            lambda: self.server.get('/sluice/live')['requests']['finished'] > before,
            'a second answer',
        )
        expect(screen.answers).to_have_count(1)
        expect(screen.answers).to_contain_text(PARIS)


class Conversations(ServedPageTest):
    def test_they_outlive_the_page(self) -> None:
        screen = self.open_greedy()
        for question in (FRANCE, ITALY):
            screen.page.get_by_role('button', name='New chat').click()
            screen.ask(question)
            screen.settled()
        expect(screen.conversations).to_have_text([ITALY, FRANCE])
        screen.page.reload()
        expect(screen.answers).to_contain_text(ROME)
        expect(screen.conversations).to_have_text([ITALY, FRANCE])
        screen.conversations.nth(1).click()
        expect(screen.answers).to_contain_text(PARIS)
        screen.page.go_back()
        expect(screen.answers).to_contain_text(ROME)

    def test_rename_delete_undo(self) -> None:
        screen = self.open_greedy()
        screen.ask(FRANCE)
        screen.settled()
        page = screen.page
        screen.conversations.hover()
        page.get_by_role('button', name='Rename').click()
        page.get_by_label('Name of the conversation').fill('Capitals')
        page.keyboard.press('Enter')
        expect(screen.conversations).to_have_text(['Capitals'])
        page.reload()
        expect(screen.conversations).to_have_text(['Capitals'])
        screen.conversations.hover()
        page.get_by_role('button', name='Delete').click()
        expect(screen.conversations).to_have_count(0)
        expect(screen.answers).to_have_count(0)
        page.get_by_role('button', name='Undo').click()
        expect(screen.conversations).to_have_text(['Capitals'])
        expect(screen.answers).to_contain_text(PARIS)

    def test_another_window_sees_them(self) -> None:
        screen = self.open_greedy()
        other = screen.page.context.new_page()
        other.goto(self.URL)
        screen.ask(FRANCE)
        expect(other.get_by_role('link', name=FRANCE)).to_be_visible()


class Keyboard(ServedPageTest):
    def test_all_without_a_pointer(self) -> None:
        screen = self.open_greedy()
        page = screen.page
        page.reload()
        expect(screen.message).to_be_focused()
        page.keyboard.type(FRANCE[:12])
        page.keyboard.press('Shift+Enter')
        page.keyboard.type(FRANCE[12:])
        expect(screen.message).to_have_value(f'{FRANCE[:12]}\n{FRANCE[12:]}')
        expect(screen.answers).to_have_count(0)
        screen.message.fill(FRANCE)
        page.keyboard.press('Enter')
        expect(screen.answers).to_contain_text(PARIS)
        screen.settled()
        expect(screen.message).to_be_focused()
        expect(screen.message).to_have_value('')
        self.tab_to(page, 'Retry')
        page.keyboard.press('Enter')
        expect(screen.answers).to_contain_text(PARIS)
        screen.settled()
        self.tab_to(page, 'Live')
        page.keyboard.press('Enter')
        expect(page.get_by_role('heading', name='Drives')).to_be_visible()

    def tab_to(self, page: Page, name: str) -> None:
        """Goes backwards until the thing of that name has the focus."""
        for _ in range(40):
            page.keyboard.press('Shift+Tab')
            if page.evaluate('document.activeElement.textContent.trim()') == name:
                return
        self.fail(f'the focus does not come to {name}')


class Slow(ServedPageTest):
    """The arithmetic that defines every operation takes its time, so there is something to stop."""

    OPTIONS = ('--backend', 'reference', '--max-sequences', 1)

    def cancelled(self) -> int:
        return self.server.get('/sluice/live')['requests']['cancelled']

    def test_stop_keeps_what_came_and_retry_ends_it(self) -> None:
        screen = self.open_greedy()
        before = self.cancelled()
        answer = screen.ask(STORY)
        expect(answer.locator('.markdown')).to_contain_text('One day')
        screen.stop.click()
        screen.settled()
        expect(answer).to_contain_text('stopped')
        expect(screen.message).to_be_focused()
        self.assertNotIn('friends.', answer.inner_text())
        until(lambda: self.cancelled() > before, 'the server stopped')
        screen.page.reload()
        expect(screen.answers).to_contain_text('One day')
        screen.answers.get_by_role('button', name='Retry').click()
        screen.settled()
        expect(screen.answers).to_contain_text('friends.')

    def test_place_in_the_queue_is_told(self) -> None:
        first, second = self.open_greedy(), self.open_greedy()
        first.ask(STORY)
        waiting = second.ask(FRANCE)
        expect(waiting).to_contain_text('Next in the queue')
        first.stop.click()
        expect(waiting).to_contain_text(PARIS)

    def test_leaving_the_page_keeps_what_came(self) -> None:
        screen = self.open_greedy()
        expect(screen.ask(STORY).locator('.markdown')).to_contain_text('One day')
        screen.page.reload()
        screen.settled()
        expect(screen.answers).to_contain_text('One day')
        expect(screen.answers).to_contain_text('stopped')


class Live(ServedPageTest):
    OPTIONS = ('--memory', '65MB')  # Some of the experts have to be read again.

    def test_numbers_of_an_answer(self) -> None:
        screen = self.open_greedy()
        screen.ask(STORY)
        screen.settled()
        screen.open_live()
        page = screen.page
        expect(page.locator('#drives tbody tr')).to_have_count(1)
        expect(page.locator('#drives tbody')).to_contain_text('models/nano')
        expect(page.locator('#layers')).to_contain_text('waited most')
        expect(page.locator('#phases')).to_contain_text('Writing answers')
        expect(page.locator('#pass')).to_contain_text('Nothing runs')
        expect(page.locator('#memory')).to_contain_text('expert slots')
        expect(
            page.get_by_role('img', name='10 layers, one below the other, of 40 experts')
        ).to_be_visible()
        self.assertGreater(self.pixels_of_experts(page), 100)

    def pixels_of_experts(self, page: Page) -> int:
        """In the colour of those in memory."""
        return page.evaluate("""() => {
            const canvas = document.querySelector('.heat canvas');
            const { width, height } = canvas;
            const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) count += data[at + 3] > 0 && data[at] < 128;
            return count;
        }""")

    def test_nothing_yet(self) -> None:
        with Server(self.SLUICE, '--context', 256, '--quiet') as server:
            self.URL = server.url
            screen = self.open()
            screen.open_live()
            expect(screen.page.locator('#phases')).to_contain_text('Not yet.')
            expect(screen.page.locator('#cache')).to_contain_text('No expert was needed yet')


class Key(ServedPageTest):
    API_KEY = KEY

    def test_the_page_comes_without_and_asks_for_it(self) -> None:
        screen = self.open()
        field = screen.page.get_by_role('dialog').get_by_label('API key')
        expect(field).to_be_focused()
        field.fill(KEY)
        field.press('Enter')
        screen.choose_effort('none')
        expect(screen.page.locator('#facts')).to_contain_text('nano')
        expect(screen.ask(FRANCE)).to_contain_text('France')
        screen.settled()
        expect(screen.answers.get_by_role('alert')).to_have_count(0)


if __name__ == '__main__':
    ServedPageTest.SLUICE = sys.argv[1]
    main([sys.argv[0], *sys.argv[2:]])
