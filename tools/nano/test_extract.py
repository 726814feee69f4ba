"""Without it, markup, lists and code would drift into the small model's texts unnoticed."""

import re
import unittest

import extract

SENTENCE = 'The cat that sat on the mat was not the one that had eaten all of the fish.'


class Plain(unittest.TestCase):
    CASES = [
        ('\u201cIt\u2019s  fine\u201d,\n he said\u2026', '"It\'s fine", he said...'),
        ('wait\u2014what', 'wait - what'), ('wait--what', 'wait - what'),
        ('I never--"', 'I never -"'), ('he said--"No."', 'he said - "No."'),
        ('run it with --help first', 'run it with --help first'),
        ('1939\u20131945', '1939-1945'), ('caf\u00e9 \u00e6sthetic', 'cafe aesthetic'),
        ('a word , and . . . more', 'a word, and ... more'),
        ('no\u00adbreak\u00a0here', 'nobreak here'),
    ]

    def test_cases(self) -> None:
        for text, expected in self.CASES:
            with self.subTest(text):
                self.assertEqual(extract.plain(text), expected)

    def test_italics_lose_their_underscores_but_names_keep_them(self) -> None:
        self.assertEqual(extract.without_italics('a _very_ good my_own_name'),
                         'a very good my_own_name')

    def test_quotes_are_mended_only_where_they_pair(self) -> None:
        self.assertEqual(extract.mended_quotes('"Go, "he said;and went.'),
                         '"Go," he said; and went.')
        self.assertEqual(extract.mended_quotes('"Go, he said. " So'), '"Go, he said." So')
        self.assertEqual(extract.mended_quotes('"Go, he said.'), '"Go, he said.')


class Prose(unittest.TestCase):
    NOT_PROSE = [
        'Too short to be of use.',
        SENTENCE[:-1],
        SENTENCE.lower(),
        'Argentina 5 km; Bolivia 3 km; Chile 6 km; Paraguay 2 km; Peru 1 km; Uruguay 9 km.',
        'If the value of {this} is in the set then it is the one that will be used for that.',
        'The os.path.join() of sys.path and site.getsitepackages() is in sys.prefix as lib_dir.',
        SENTENCE + ' \u03b1\u03b2\u03b3.',
    ]

    def test_sentences_are_prose(self) -> None:
        self.assertTrue(extract.is_prose(SENTENCE))

    def test_lists_code_and_fragments_are_not(self) -> None:
        for text in self.NOT_PROSE:
            with self.subTest(text):
                self.assertFalse(extract.is_prose(text))

    def test_dialogue_belongs_to_a_book_and_headings_do_not(self) -> None:
        for text, kept in [('"Yes."', True), ('Mr. Darcy bowed.', True), ('VOLUME II', False),
                           ('"NO!"', True), ('1811 - 1813, 1815.', False), ('Beloved', False)]:
            with self.subTest(text):
                self.assertEqual(extract.is_book_line(text), kept)

    def test_what_only_announces_code_goes_with_it(self) -> None:
        announcement = SENTENCE[:-1] + ':'
        self.assertEqual(extract.prose([announcement, '', SENTENCE]), [SENTENCE])
        self.assertEqual(extract.prose([announcement, SENTENCE]), [announcement, SENTENCE])

    def test_questions_stay_with_their_answers(self) -> None:
        question = 'Where can I find the cat now?'
        self.assertEqual(extract.prose([question, SENTENCE, question]), [question, SENTENCE])


class Books(unittest.TestCase):
    def test_chapters_start_at_headings(self) -> None:
        paragraphs = extract.wrapped_paragraphs('Title\n\nChapter 1\n\nA long\nline.\n  \nB.\n\n'
                                                'Chapter 2\n\nC.\n')
        self.assertEqual(list(extract.chapters(paragraphs, re.compile(r'Chapter \d+'))),
                         [('Chapter 1', ['A long line.', 'B.']), ('Chapter 2', ['C.'])])

    def test_bible_markup(self) -> None:
        markup = ('<div type="x-p" sID="1"/><w lemma="x">In</w> the beginning<note n="1">A <b>note'
                  '</b></note>, God<note>x</note>made <title>Heading</title>it.'
                  '<div type="x-p" sID="2"/><l level="1" sID="3"/>One line<l eID="3"/>'
                  '<l sID="4"/>and another &amp; more')
        self.assertEqual(extract.osis_paragraphs(markup),
                         ['In the beginning, God made it.', 'One line and another & more'])


class Markup(unittest.TestCase):
    def test_page(self) -> None:
        page = f'''<html><head><title>T</title><style>x</style></head><body>
            <div class="sphinxsidebar"><div><p>{SENTENCE} Aside.</p></div></div>
            <h1>Heading</h1><h2>What is it that sat on the mat?</h2>
            <p>The cat <em>that</em> sat on the <a href="x">mat</a> was not the one that
            had<br>eaten all of the fish.<p>{SENTENCE} Twice.
            <pre>{SENTENCE} Code.</pre><table><tr><td>{SENTENCE} Cell.</td></tr></table>
            <ul><li>{SENTENCE} Item.</li></ul>
            <p><code>{SENTENCE}</code></p></body></html>'''
        self.assertEqual(extract.html_paragraphs(page),
                         ['What is it that sat on the mat?', SENTENCE, SENTENCE + ' Twice.',
                          SENTENCE + ' Item.'])

    def test_fragment(self) -> None:
        self.assertEqual(extract.html_text('<p>A &amp; <b>b</b></p> c<br><br>d<br>e'),
                         ['A & b', 'c', 'd e'])

    def test_perl_documentation(self) -> None:
        pod = ('=head1 NAME\n\n=head2 Where is the C<cat> that sat?\n\n'
               'The cat B<that I<sat>> on the L<mat|perlmat> was not the one X<x>that had '
               'S<< eaten >> all of\nthe fish.\n\n  code here\n\n=begin html\n\n' + SENTENCE +
               '\n\n=end html\n\n=cut\n')
        self.assertEqual(extract.pod_paragraphs(pod), ['Where is the cat that sat?', SENTENCE])


if __name__ == '__main__':
    unittest.main()
