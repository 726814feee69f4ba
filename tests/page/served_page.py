"""Tests of the page at `sluice serve` with the small model."""

import sys
from pathlib import Path
from typing import Any

from browsing import PageTest, Screen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'server'))

from serving import KEY, NANO, Server, until  # noqa: E402

__all__ = ['FRANCE', 'KEY', 'NANO', 'STORY', 'ServedPageTest', 'Server', 'until']

FRANCE = 'What is the capital of France?'
STORY = 'Tell me a story.'


class ServedPageTest(PageTest):
    """One server a class."""

    SLUICE = ''
    MODEL = NANO
    OPTIONS: tuple[Any, ...] = ()
    API_KEY = ''

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = cls.enterClassContext(
            Server(
                cls.SLUICE,
                '--context',
                2048,
                '--quiet',
                *cls.OPTIONS,
                model=cls.MODEL,
                key=cls.API_KEY
            )
        )
        cls.URL = cls.server.url

    def open_greedy(self, effort: str = 'none', **options: Any) -> Screen:
        """The page, set to answers that are always the same."""
        screen = self.open(**options)
        screen.page.get_by_role('button', name='Settings').click()
        screen.page.get_by_label('Temperature').fill('0')
        screen.page.keyboard.press('Enter')
        screen.choose_effort(effort)
        return screen
