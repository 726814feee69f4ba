"""Kinds made from WordNet: what words mean, opposites, other words, and what is a kind of what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .common_words import MEANINGS, ODD, UNSUITABLE
from .core import Kind, article, blocks, share_of, table
from .word_pairs import CATEGORIES, OPPOSITES, SYNONYMS
from .wordnet import Synset, WordNet

MEANING_COUNT = 2500

GLOSS_WORDS_MAX = 12
SENSES_MAX = 8  # words with more have no gloss that stands for the word
DOMINANCE_MIN = 0.5

WEAK_ENDS = r"\b(?:a|an|the|of|to|or|and|in|as|by|for|with|that|which|from|etc)$"


def suitable(text: str) -> bool:
    return not any(word in UNSUITABLE for word in re.findall("[a-z]+", text.lower()))


def stem(word: str) -> str:
    return re.sub(r"(?:ing|ment|ness|ation|ed|er|ly|y|e|s)$", "", word)[:7]


def clean_gloss(word: str, synset: Synset) -> str | None:
    """The first clause of the definition, or nothing where it would not explain the word."""
    clause = synset.definition.split(";")[0].split(":")[0].strip()
    clause = re.sub(r"^to (?=[a-z])", "", clause) if synset.part == "v" else clause
    clause = re.sub(r",? (?:such as|as in|e\.g\.).*$", "", clause)
    words = clause.split()
    fits = 3 <= len(words) <= GLOSS_WORDS_MAX or (synset.part != "n" and len(words) == 2)
    plain = re.fullmatch(r"(?!used )(?:[a-zA-Z ']|, |-(?!-))*", clause)
    plain = plain and not re.search(WEAK_ENDS, clause)
    circular = stem(word) in clause
    return clause if fits and plain and not circular and suitable(f"{word} {clause}") else None


def explained(net: WordNet, word: str, part: str) -> bool:
    """Whether the first sense can stand for the word, which is in its basic form and no name."""
    senses = net.senses[word, part]
    inflected = part == "n" and word.endswith("s") and (word[:-1], "n") in net.senses
    return (
        word not in ODD
        and not inflected
        and word in senses[0].words
        and len(senses) <= SENSES_MAX
        and net.dominance(word, part) >= DOMINANCE_MIN
    )


def meaning_rows(net: WordNet) -> list[dict[str, str]]:
    rows = {row["subject"]: row for row in table(MEANINGS, "subject", "gloss")}
    for word, part in net.common("nva"):
        if len(rows) == MEANING_COUNT:
            break
        if word in rows or not explained(net, word, part):
            continue
        gloss = clean_gloss(word, net.senses[word, part][0])
        if gloss is not None:
            rows[word] = {"subject": word, "gloss": f"to {gloss}" if part == "v" else gloss}
    return list(rows.values())


def pairs(text: str) -> list[tuple[str, str]]:
    return [tuple(pair.split()) for pair in text.replace("\n", "/").split("/") if pair.strip()]


def opposite_rows() -> list[dict[str, str]]:
    opposites: dict[str, str] = {}
    for word, opposite in pairs(OPPOSITES):
        opposites.setdefault(word, opposite)
    for word, opposite in pairs(OPPOSITES):
        opposites.setdefault(opposite, word)
    return [{"subject": word, "opposite": opposite} for word, opposite in opposites.items()]


def category_rows() -> list[dict[str, str]]:
    categories = [
        (*header.split(" | "), members.split())
        for header, members in blocks(CATEGORIES)
    ]
    rows = []
    for phrase, group, members in categories:
        others = [name for name, other_group, _ in categories if other_group != group]
        for member in members:
            word = member.lstrip("*")
            rows.append(
                {
                    "subject": word,
                    "thing": word if member.startswith("*") else article(word),
                    "category": phrase,
                    "wrong": others[int(share_of("wrong", word) * len(others))],
                }
            )
    return rows


def word_kinds(net: WordNet) -> list[Kind]:
    return [
        Kind(
            "opposite",
            (
                "What is the opposite of {subject}?",
                "What's the opposite of {subject}?",
                "Tell me the opposite of {subject}.",
                "Please name the opposite of {subject}.",
                "Which word is the opposite of {subject}?",
                "Which word means the opposite of {subject}?",
                "Do you know the opposite of {subject}?",
                "Opposite of {subject}?",
            ),
            "The user asks for the opposite of the word {subject}.",
            "The opposite of {subject} is {opposite}.",
            opposite_rows(),
        ),
        Kind(
            "synonym",
            (
                "What is another word for {subject}?",
                "What's another word for {subject}?",
                "Tell me another word for {subject}.",
                "Which word means the same as {subject}?",
                "What is a synonym of {subject}?",
                "Please give me a synonym for {subject}.",
                "How else can I say {subject}?",
            ),
            "The user asks for a word that means the same as {subject}.",
            "Another word for {subject} is {other}.",
            [{"subject": a, "other": b} for a, b in dict(reversed(pairs(SYNONYMS))).items()],
        ),
        Kind(
            "meaning",
            (
                "What does {subject} mean?",
                "What does the word {subject} mean?",
                "What is the meaning of {subject}?",
                "What is the meaning of the word {subject}?",
                'What does "{subject}" mean?',
                "Explain the word {subject}.",
                "Please explain what {subject} means.",
                "Define {subject}.",
                "Can you define the word {subject}?",
                "I do not know the word {subject}. What does it mean?",
                "Tell me what {subject} means.",
            ),
            "The user asks for the meaning of the word {subject}.",
            "The word {subject} means {gloss}.",
            meaning_rows(net),
            limit=8,
        ),
    ]


def category_kinds() -> list[Kind]:
    rows = category_rows()
    return [
        Kind(
            "category",
            (
                "What kind of thing is {thing}?",
                "What sort of thing is {thing}?",
                "What is {thing}, {category} or {wrong}?",
                "Is {thing} {wrong} or {category}?",
                "Is {thing} {category}, or is it {wrong}?",
                "Tell me what kind of thing {thing} is.",
            ),
            "The user asks what kind of thing {thing} is.",
            "{thing} is {category}.",
            rows,
        ),
        Kind(
            "is_category",
            (
                "Is {thing} {category}?",
                "Would you say that {thing} is {category}?",
                "Is it true that {thing} is {category}?",
                "Tell me whether {thing} is {category}.",
                "Am I right that {thing} is {category}?",
            ),
            "{thing} is {category}, so the answer is yes.",
            "Yes, {thing} is {category}.",
            rows,
        ),
        Kind(
            "is_not_category",
            (
                "Is {thing} {wrong}?",
                "Would you say that {thing} is {wrong}?",
                "Is it true that {thing} is {wrong}?",
                "Tell me whether {thing} is {wrong}.",
                "Am I right that {thing} is {wrong}?",
            ),
            "{thing} is {category} and not {wrong}, so the answer is no.",
            "No, {thing} is {category}.",
            rows,
        ),
    ]


def full_sentence(text: str) -> str:
    text = text[:1].upper() + text[1:].rstrip(".;, ")
    return text if text[-1:] in "?!" else text + "."


def definitions(net: WordNet) -> Iterator[str]:
    """A line for each sense of WordNet: words, definition, and the examples as sentences."""
    for synset in net.synsets.values():
        words = [word.replace("_", " ") for word in synset.words[:4]]
        if any(re.match("(?:genus|family|order|class) [A-Z]", word) for word in words):
            continue
        parts = [f"{', '.join(words)}: {synset.definition}."]
        parts += [full_sentence(example) for example in synset.examples[:2]]
        text = " ".join(" ".join(parts).replace("`", "'").split())
        if suitable(text) and text.isascii():
            yield text


def kinds(net: WordNet) -> list[Kind]:
    return [*category_kinds(), *word_kinds(net)]
