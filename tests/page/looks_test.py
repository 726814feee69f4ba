"""How the page looks with the small model.

looks_test.py SLUICE [--fuse-drive PROGRAM] [--screenshots FOLDER] [CLASS...]

Without this test the page could be too wide for a phone, or dark where it should be light. With
--screenshots it works for some minutes and leaves pictures there; the drives in them are emulated
by PROGRAM.
"""

import argparse
import itertools
import os
import sys
import tempfile
import threading
from pathlib import Path

from browsing import DESKTOP, PHONE, Screen, expect, main
from served_page import FRANCE, NANO, STORY, ServedPageTest, until

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'faults'))

from drives import FuseDrive, why_no_fuse  # noqa: E402

QUESTIONS = (FRANCE, STORY, 'What is 17 plus 25?')
OTHERS = ('What color is the sky?', 'How many legs does a spider have?')
RATES = {'drive-a': 160_000_000, 'drive-b': 120_000_000, 'drive-c': 60_000_000}
HISTORY_SECONDS = {False: 3, True: 120}  # Without and with pictures.

SCHEMES = ('light', 'dark')
SIZES = (DESKTOP, PHONE)


class Looks(ServedPageTest):
    FUSE_DRIVE: str | None = None
    PICTURES: str | None = None
    DRIVES = 1
    OPTIONS = ('--name', 'nano', '--memory', '72MB')

    @classmethod
    def setUpClass(cls) -> None:
        if os.geteuid() == 0 and not why_no_fuse(cls.FUSE_DRIVE):
            cls.emulate_drives()
        super().setUpClass()

    @classmethod
    def emulate_drives(cls) -> None:
        """Names without a folder before them, as pictures show them."""
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix='sluice-page-')))
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        for name, rate in RATES.items():
            (folder / name).mkdir()
            cls.addClassCleanup(FuseDrive(cls.FUSE_DRIVE, NANO, folder / name, rate).close)
        first, *others = RATES
        cls.MODEL = Path(first)
        cls.DRIVES = len(RATES)
        cls.OPTIONS += tuple(word for name in others for word in ('--volume', name))

    def picture(self, screen: Screen, view: str, size: dict[str, int], scheme: str) -> None:
        self.assertEqual(screen.overflow(), 0, (view, size))
        if self.PICTURES:
            path = f'{self.PICTURES}/{view}-{size["width"]}-{scheme}.png'
            screen.page.mouse.move(0, 0)
            screen.page.screenshot(path=path, full_page=view == 'live')

    def talk(self, screen: Screen) -> None:
        screen.choose_effort('low')
        for question in OTHERS:
            screen.ask(question)
            screen.settled()
            screen.page.evaluate("location.hash = '#/'")
        for question in QUESTIONS:
            screen.ask(question)
            screen.settled()
        screen.answers.last.get_by_text('Thought for').click()
        expect(screen.answers.last.locator('.thoughts')).to_be_visible()
        screen.page.locator('#scroller').evaluate('node => { node.scrollTop = node.scrollHeight; }')

    def test_all_sizes_and_colours(self) -> None:
        screens = [(scheme, size, self.open_greedy(size=size, scheme=scheme))
                   for scheme in SCHEMES for size in SIZES]
        backgrounds = set()
        for scheme, size, screen in screens:
            self.talk(screen)
            self.picture(screen, 'chat', size, scheme)
            colour = screen.page.evaluate('getComputedStyle(document.body).backgroundColor')
            backgrounds.add((scheme, colour))
            screen.open_live()
        self.assertEqual(len(backgrounds), len(SCHEMES))
        self.work()
        for scheme, size, screen in screens:
            expect(screen.page.locator('#drives tbody tr')).to_have_count(self.DRIVES)
            now = screen.page.locator('.tile', has_text='Drives').locator('strong')
            expect(now).not_to_have_text('0 B/s')
            self.picture(screen, 'live', size, scheme)

    def work(self) -> None:
        """Asks until the charts have something to show, and goes on with it."""
        done = threading.Event()

        def ask() -> None:
            for number in itertools.count():
                text = (STORY, f'What is {number} plus 25?')[number % 2]
                message = {'role': 'user', 'content': text}
                request = {'messages': [message], 'reasoning_effort': 'low'}
                self.server.post('/v1/chat/completions', request)
                if done.is_set():
                    return

        threads = [threading.Thread(target=ask) for _ in range(3)]
        self.addCleanup(lambda: [thread.join() for thread in threads])
        self.addCleanup(done.set)
        for thread in threads:
            thread.start()
        end = self.uptime() + HISTORY_SECONDS[self.PICTURES is not None]
        until(lambda: self.uptime() > end, 'time passes', seconds=200)

    def uptime(self) -> float:
        return self.server.get('/sluice/live')['uptime_seconds']

    def test_phone_has_the_list_behind_a_button(self) -> None:
        screen = self.open_greedy(size=PHONE)
        screen.ask(FRANCE)
        screen.settled()
        menu = screen.page.get_by_role('button', name='Conversations')
        expect(screen.conversations).to_be_hidden()
        menu.click()
        expect(screen.conversations).to_be_visible()
        screen.page.keyboard.press('Escape')
        expect(screen.conversations).to_be_hidden()
        expect(menu).to_be_focused()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('sluice', type=os.path.abspath)  # The test works in another folder.
    parser.add_argument('--fuse-drive', type=os.path.abspath)
    parser.add_argument('--screenshots', type=os.path.abspath)
    arguments, rest = parser.parse_known_args()
    ServedPageTest.SLUICE = arguments.sluice
    Looks.FUSE_DRIVE = arguments.fuse_drive
    Looks.PICTURES = arguments.screenshots
    main([sys.argv[0], *rest])
