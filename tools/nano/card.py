"""Writes the model card from the figures of the evaluation.

Expects in the data folder what these wrote:
  sluice eval --text build/nano/prose_heldout.txt --window 1024 --stride 1023 --json \\
    > build/nano/eval_text.json
  sluice eval --questions build/nano/questions_sample.jsonl --output build/nano/answers.jsonl \\
    --json > build/nano/eval_questions.json
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path

from checkpoint import read_checkpoint

EXAMPLES = 10
INTRODUCTION = """# nano: a small Kimi K3

A language model of {million:.0f} million parameters with the architecture of Kimi K3 and every part of it: Kimi
Delta Attention and gated latent attention (two layers of it at the end), block attention residuals with a partial
last block, a dense first layer, {experts} routed experts in MXFP4 behind a latent projection with {top_k} used per
token, shared experts, SiTU. It is in the released layout, takes {megabytes:.1f} MB, and is here so that Sluice can be
tried, tested and measured on real language and real routing without a download.

It answers short English questions of the kinds it was trained on, and continues plain English prose. It knows
nothing else, and what it says is not checked by anybody: it is a test object, not an assistant. It was made by the
project alone, from the texts below, with the recipe in `tools/nano`; no weights or outputs of another model were used.
"""


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def prose_section(data: Path) -> str:
    text = (data / "prose_heldout.txt").read_bytes()
    packed = 8 * len(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)) / len(text)
    score = json.loads((data / "eval_text.json").read_text())
    bits = score["bits_per_byte"]
    return (f"On the held-out prose ({score['bytes']:,} bytes, 5 % of each source, whole documents): "
            f"**{bits:.3f} bits a byte**, perplexity {score['perplexity']:.1f} a token; `xz -9e` needs "
            f"{packed:.3f} bits a byte, so this is {100 * (1 - bits / packed):.0f} % fewer.\n")


def question_section(data: Path) -> str:
    score = json.loads((data / "eval_questions.json").read_text())
    kinds = sorted(score["kinds"].items())
    rows = [[kind, str(n["questions"]), str(n["right"]), f"{100 * n['share']:.0f} %"]
            for kind, n in kinds]
    return (f"On held-out questions, greedy, exact match: **{score['right']} of {score['questions']}, "
            f"{100 * score['share']:.1f} %**. Held out are a tenth of the pairs of a phrasing and a "
            "subject: each fact was trained, but not in these words. The questions are every seventh "
            "of the held-out file.\n\n" + table(["kind", "questions", "right", "share"], rows))


def example_section(data: Path) -> str:
    answers = [json.loads(line) for line in (data / "answers.jsonl").open()]
    rows = [[a["prompt"], a["reasoning"], a["answer"], "yes" if a["correct"] else "no"]
            for a in answers[:: len(answers) // EXAMPLES][:EXAMPLES]]
    return (f"Ten of these answers, one after each {len(answers) // EXAMPLES} questions:\n\n"
            + table(["prompt", "reasoning", "answer", "right"], rows))


def source_section(data: Path) -> str:
    rows = [[s["package"], s["version"], s["licence"], s["keep"], f"{s['bytes'] / 1e6:.2f}"]
            for s in json.loads((data / "sources_report.json").read_text())]
    rows.append(["wordnet-base", "3.0", "WordNet", "meanings and example sentences", "10.46"])
    return ("From packages of Debian 12 and PyPI, cleaned; nothing of other licences was used. The "
            "questions are the project's own, with meanings from WordNet.\n\n"
            + table(["package", "version", "licence", "what", "MB"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("build/nano"))
    parser.add_argument("--model", type=Path, default=Path("models/nano"))
    args = parser.parse_args()
    text = json.loads((args.model / "config.json").read_text())["text_config"]
    tensors = read_checkpoint(args.model)
    count = sum(t.numel() * (2 if name.endswith("packed") else 0 if name.endswith("scale") else 1)
                for name, t in tensors.items())
    size = sum(path.stat().st_size for path in args.model.iterdir() if path.name != "README.md")
    sections = [
        INTRODUCTION.format(million=count / 1e6, megabytes=size / 1e6, experts=text["num_experts"],
                            top_k=text["num_experts_per_token"]),
        "## How good it is\n\n" + prose_section(args.data) + "\n" + question_section(args.data),
        example_section(args.data),
        "## Texts and licences\n\n" + source_section(args.data),
        "The weights are under the MIT licence of the project.\n",
    ]
    (args.model / "README.md").write_text("\n".join(sections))


if __name__ == "__main__":
    main()
