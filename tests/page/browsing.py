"""Opens the page in a headless Chromium for tests, and speaks of its parts as users do."""

import os
import re
import shutil
import sys
import unittest
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

WEB = Path(__file__).resolve().parents[2] / 'src' / 'server' / 'web'
DESKTOP = {'width': 1280, 'height': 860}
PHONE = {'width': 390, 'height': 844}
TOUCH = {'is_mobile': True, 'has_touch': True}
SKIPPED = 77
CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'chromium-browser'))), None)
# A response that is no success is written to the console by the browser itself.
REFUSED = re.compile(r'Failed to load resource: the server responded with a status of (401|429)')

expect.set_options(timeout=30_000)


class Screen:
    """One window with the page."""

    def __init__(self, page: Page):
        self.page = page
        self.message = page.get_by_label('Message', exact=True)
        self.send = page.get_by_role('button', name='Send', exact=True)
        self.stop = page.get_by_role('button', name='Stop', exact=True)
        self.answers = page.get_by_role('article', name='Answer')
        self.questions = page.get_by_role('article', name='You')
        self.conversations = page.get_by_role('list', name='Kept in this browser').get_by_role(
            'link'
        )

    def ask(self, text: str) -> Locator:
        """Sends a message and returns its answer, which has begun."""
        count = self.answers.count()
        self.message.fill(text)
        self.message.press('Enter')
        expect(self.answers).to_have_count(count + 1)
        return self.answers.nth(count)

    def settled(self) -> None:
        """No answer is under way."""
        expect(self.send).to_be_visible()

    def choose_effort(self, effort: str) -> None:
        self.page.get_by_label('Thinking').select_option(effort)

    def open_live(self) -> None:
        self.page.get_by_role('link', name='Live').click()
        expect(self.page.locator('#drives')).not_to_be_empty()

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate('document.documentElement.scrollWidth - window.innerWidth')


class PageTest(unittest.TestCase):
    """One browser a class, one window with an empty storage a test; its console must stay clean."""

    URL = ''
    browser: Browser

    @classmethod
    def setUpClass(cls) -> None:
        playwright = cls.enterClassContext(sync_playwright())
        flags = ['--no-sandbox'] if os.geteuid() == 0 else []
        cls.browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        cls.addClassCleanup(cls.browser.close)

    def open(self, size: dict[str, int] = DESKTOP, scheme: str = 'light', **options: Any) -> Screen:
        touch = TOUCH if size == PHONE else {}
        context = self.browser.new_context(viewport=size, color_scheme=scheme, **touch, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.on('console', self._hear)
        page.on('pageerror', lambda error: self.fail(f'the page threw {error}'))
        page.goto(self.URL)
        return Screen(page)

    def expect_complaints(self, text: str) -> None:
        """Messages with this text may come to the console, at whatever time until the end."""
        self._expected.append(text)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type not in ('error', 'warning') or REFUSED.match(message.text):
            return
        if not any(text in message.text for text in self._expected):
            self._complaints.append(message.text)

    def setUp(self) -> None:
        self._complaints: list[str] = []
        self._expected: list[str] = []

    def tearDown(self) -> None:
        self.assertEqual(self._complaints, [], 'on the console of the browser')


def main(argv: list[str]) -> None:
    """Runs a test file: FILE [CLASS...]."""
    if CHROMIUM is None:
        print(
            'skipped: there is no Chromium; tools/install-packages test installs it',
            file=sys.stderr,
        )
        sys.exit(SKIPPED)
    unittest.main(module='__main__', argv=argv)
