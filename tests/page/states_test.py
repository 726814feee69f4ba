"""The page at a server with made-up answers, for what the small model cannot show.

Without these tests a queue, a failing server, a missing key or four drives could break the page
unseen.
"""

import base64
import sys
from typing import Any

from browsing import DESKTOP, PHONE, WEB, PageTest, Screen, expect, main
from fake_live import HEAT
from fake_server import KEY, MARKDOWN, FakeServer


class StatesTest(PageTest):
    """Each test has a server of its own."""

    def serve(self, **options: Any) -> FakeServer:
        server = FakeServer(WEB, **options)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.URL = server.url
        return server


class Waiting(StatesTest):
    def test_queue_and_prompt_are_told(self) -> None:
        server = self.serve()
        screen = self.open()
        answer = screen.ask('Wait in the queue')
        expect(answer).to_contain_text('In the queue, 2 requests before this one')
        server.go_on.set()
        expect(answer).to_contain_text(
            'Reading the prompt: 512 of 640 tokens, 128 were in memory, about 42 s left'
        )
        self.assertEqual(
            answer.get_by_role('progressbar').evaluate('bar => bar.value / bar.max'), 0.8
        )
        server.go_on.set()
        expect(answer).to_contain_text('Nine words')
        expect(answer).to_contain_text('128 tokens · prompt 640, 512 from memory · 1.42 tokens/s')
        expect(answer.get_by_role('progressbar')).to_be_hidden()

    def test_another_conversation_meanwhile(self) -> None:
        server = self.serve()
        screen = self.open()
        screen.ask('First one, in the queue')
        screen.page.get_by_role('button', name='New chat').click()
        expect(screen.send).to_be_visible()
        expect(screen.ask('Second one')).to_contain_text('Nine words')
        server.go_on.set()
        screen.conversations.filter(has_text='First one').click()
        expect(screen.answers).to_contain_text('Reading the prompt')
        server.go_on.set()
        expect(screen.answers).to_contain_text('Nine words')


class Thinking(StatesTest):
    def test_reasoning_is_folded_with_a_hint(self) -> None:
        server = self.serve()
        screen = self.open()
        screen.choose_effort('high')
        answer = screen.ask('What do you think')
        summary = answer.locator('summary')
        expect(summary).to_contain_text('Thinking')
        expect(answer.locator('.hint-line')).to_have_text('First what they are, then a table.')
        expect(answer.locator('.thoughts')).to_be_hidden()
        server.go_on.set()
        screen.settled()
        expect(summary).to_contain_text('Thought for')
        expect(summary).to_contain_text('96 tokens')
        summary.press('Enter')
        expect(answer.locator('.thoughts')).to_contain_text('First what they are')
        self.assertEqual(server.requests[0]['reasoning_effort'], 'high')

    def test_reasoning_goes_back_to_the_server(self) -> None:
        server = self.serve(pause=0)
        server.go_on.set()
        screen = self.open()
        screen.ask('What do you think')
        screen.settled()
        screen.ask('And now')
        screen.settled()
        roles = [message['role'] for message in server.requests[1]['messages']]
        self.assertEqual(roles, ['user', 'assistant', 'user'])
        self.assertIn('First what they are', server.requests[1]['messages'][1]['reasoning_content'])


class Markdown(StatesTest):
    def answer(self) -> Screen:
        self.serve(pause=0.001)
        screen = self.open()
        screen.ask('Show markdown')
        screen.settled()
        return screen

    def test_blocks_and_marks(self) -> None:
        answer = self.answer().answers
        expect(answer.get_by_role('heading', name='Panels')).to_be_visible()
        self.assertEqual(answer.locator('ol > li').count(), 3)
        self.assertEqual(answer.locator('ol ul > li').count(), 2)
        self.assertEqual(answer.locator('tbody tr').count(), 2)
        expect(answer.locator('th').nth(1)).to_have_css('text-align', 'right')
        expect(answer.locator('blockquote')).to_contain_text('Control is free')
        expect(answer.locator('p em')).to_have_text('consecutive rows')
        expect(answer.locator('p code')).to_have_text('read_panel()')
        expect(answer.locator('.code-keyword').first).to_have_text('def')
        expect(answer.locator('.code-comment')).to_have_text('# In the order of the file.')

    def test_nothing_of_an_answer_becomes_markup(self) -> None:
        answer = self.answer().answers
        last = answer.locator('.markdown > p').last
        expect(last).to_have_text(
            'A line that <b>is no markup</b> and no script, with 2 * 3 * 4 and snake_case_names.'
        )
        self.assertEqual(last.locator('b, a, em').count(), 0)
        links = answer.get_by_role('link')
        self.assertEqual(links.count(), 1)
        self.assertEqual(links.get_attribute('href'), 'https://example.com/a?b=1&c=2')

    def test_code_is_copied(self) -> None:
        screen = self.answer()
        screen.page.context.grant_permissions(['clipboard-read', 'clipboard-write'])
        screen.answers.locator('figure').get_by_role('button', name='Copy').click()
        expect(screen.answers.get_by_role('button', name='Copied')).to_be_visible()
        copied = screen.page.evaluate('navigator.clipboard.readText()')
        self.assertTrue(
            copied.startswith('def read_panel(') and copied.endswith('b"".join(parts)'), copied
        )

    def test_a_text_that_grows_ends_as_if_it_came_at_once(self) -> None:
        self.serve()
        grown = """async (text) => {
            const { MarkdownView } = await import('/web/markdown_view.js');
            const view = new MarkdownView();
            for (let end = 1; end <= text.length; ++end) {
                const whole = new MarkdownView();
                [view, whole].forEach((one) => one.update(text.slice(0, end)));
                if (view.root.innerHTML !== whole.root.innerHTML) return text.slice(0, end);
            }
            return view.root.childElementCount;
        }"""
        self.assertEqual(self.open().page.evaluate(grown, MARKDOWN), 7)


class Trouble(StatesTest):
    def test_full_queue(self) -> None:
        self.serve()
        screen = self.open()
        answer = screen.ask('Is it full')
        expect(answer.get_by_role('alert')).to_contain_text(
            'The queue is full: 16 requests wait. Try again in 3 s.'
        )
        answer.get_by_role('button', name='Retry').click()
        expect(screen.answers).to_have_count(1)
        expect(screen.answers.get_by_role('alert')).to_contain_text('The queue is full')

    def test_error_within_an_answer_keeps_what_came(self) -> None:
        self.serve()
        answer = self.open().ask('It will break')
        expect(answer.get_by_role('alert')).to_contain_text('The drive nvme3n1 is gone.')
        expect(answer).to_contain_text('Nine words')

    def test_no_server(self) -> None:
        server = self.serve()
        screen = self.open()
        self.expect_complaints('ERR_FAILED')
        screen.page.route('**/v1/**', lambda route: route.abort())
        expect(screen.ask('Anyone').get_by_role('alert')).to_contain_text(
            'The server cannot be reached'
        )
        screen.page.unroute('**/v1/**')
        screen.answers.get_by_role('button', name='Retry').click()
        expect(screen.answers).to_contain_text('Nine words')
        self.assertEqual(len(server.requests), 1)

    def test_stop_disconnects(self) -> None:
        server = self.serve()
        screen = self.open()
        answer = screen.ask('Just hang')
        expect(answer).to_contain_text('more more')
        screen.page.keyboard.press('Escape')
        screen.settled()
        expect(answer).to_contain_text('stopped')
        self.assertTrue(server.cancelled.wait(20))

    def test_key_is_asked_for(self) -> None:
        self.serve(wants_key=True)
        screen = self.open()
        dialog = screen.page.get_by_role('dialog')
        expect(dialog).to_contain_text('This server asks for an API key')
        key = dialog.get_by_label('API key')
        expect(key).to_be_focused()
        key.fill('wrong')
        key.press('Enter')
        expect(dialog).to_contain_text('The server does not accept this API key')
        key.fill(KEY)
        key.press('Enter')
        expect(dialog).to_be_hidden()
        expect(screen.page.locator('#facts')).to_contain_text('kimi-k3')
        expect(screen.ask('Hello')).to_contain_text('Nine words')


class Settings(StatesTest):
    def test_they_are_sent_and_kept(self) -> None:
        server = self.serve(pause=0)
        screen = self.open()
        for _ in range(2):
            screen.page.get_by_role('button', name='Settings').click()
            dialog = screen.page.get_by_role('dialog')
            if not server.requests:
                dialog.get_by_label('System prompt').fill('Be brief.')
                dialog.get_by_label('Temperature').fill('0.3')
                dialog.get_by_label('Tokens at most').fill('77')
            dialog.get_by_role('button', name='Done').click()
            screen.ask('Hello')
            screen.settled()
            request = server.requests[-1]
            self.assertEqual(request['messages'][0], {'role': 'system', 'content': 'Be brief.'})
            self.assertEqual((request['temperature'], request['max_tokens']), (0.3, 77))
            screen.page.reload()


class Drives(StatesTest):
    def test_all_parts_have_numbers_with_units(self) -> None:
        self.serve()
        for size in (DESKTOP, PHONE):
            screen = self.open(size)
            screen.open_live()
            page = screen.page
            rows = page.locator('#drives tbody tr')
            expect(rows).to_have_count(4)
            expect(rows.nth(3)).to_contain_text('nvme3n1')
            for unit in (
                'GB/s',
                '15\u00a0%',
                '79\u00a0%',
                '21.0\u00a0MB',
                '9.20\u00a0ms',
                '137\u00a0ms',
                'TB',
                '51\u00a0%',
            ):
                expect(rows.nth(3)).to_contain_text(unit)
            expect(page.locator('#layers')).to_contain_text('layer 1 waited most')
            self.assertEqual(page.locator('#layers .column').count(), 92)
            expect(page.locator('#pass')).to_contain_text('of 93, 1 token at once')
            expect(page.locator('#phases')).to_contain_text('16,341 tokens in 64 passes')
            expect(page.locator('#memory')).to_contain_text('251\u00a0GB')
            expect(page.locator('#tiles')).to_contain_text('2 waiting')
            self.assertEqual(screen.overflow(), 0)

    def test_heat_map_tells_experts(self) -> None:
        self.serve()
        screen = self.open()
        screen.open_live()
        canvas = screen.page.get_by_role('img', name='Experts in memory')
        canvas.hover(position={'x': 2, 'y': 2})
        first = base64.b64decode(HEAT['resident'])[0]
        state = 'in memory' if first >> 1 & 1 else 'not in memory'
        expect(screen.page.locator('.heat .hint')).to_contain_text(f'Layer 1, expert 1: {state}')

    def test_numbers_go_on_and_details_stay_open(self) -> None:
        self.serve()
        screen = self.open()
        screen.open_live()
        screen.page.get_by_text('As a table').click()
        before = screen.page.locator('#totals').inner_text()
        expect(screen.page.locator('#totals')).not_to_have_text(before, use_inner_text=True)
        expect(screen.page.get_by_role('region', name='Layers')).to_be_visible()

    def test_old_numbers_are_marked(self) -> None:
        server = self.serve()
        screen = self.open()
        screen.open_live()
        server.wants_key = True
        expect(screen.page.locator('#live-notice')).to_contain_text('are not the newest')
        expect(screen.page.locator('.stale #tiles')).to_contain_text('GB/s')


if __name__ == '__main__':
    main(sys.argv)
