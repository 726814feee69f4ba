#!/usr/bin/python3
"""Breaks the code in one typical way at a time and demands that the golden test notices.

    tests/golden/mutations.py [--build DIR] [--only TEXT]

Works on a copy of the sources, with an incremental build of its own, and prints a table. Exit status 1 when a
mutation survives. Takes some minutes; docs/testing.md holds the last table.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CPU = "src/backend/cpu/cpu_backend.cpp"
ATTENTION = "src/backend/cpu/attention.cpp"
MODEL = "src/model/model.cpp"
WEIGHTS = "src/model/weights.cpp"
ROUTING = "src/backend/routing.h"

# (what is wrong, file, text, replacement)
MUTATIONS = [
    ("A_log of a neighbouring head", ATTENTION, "numbers(a.rate)[head]", "numbers(a.rate)[(head + 1) % a.heads]"),
    ("KDA gate before the norm", CPU, "GATED_HEAD_NORM", ""),
    ("query not scaled by 1/sqrt(dim)", ATTENTION, "query_scale / std::sqrt(", "1.0f / std::sqrt("),
    ("L2 epsilon 1e-12", ATTENTION, "kL2Epsilon = 1e-6f", "kL2Epsilon = 1e-12f"),
    ("dt_bias of another channel", ATTENTION, "numbers(a.dt_bias) + at", "numbers(a.dt_bias)"),
    ("conv histories of k and q exchanged", MODEL, "layer.q_conv, kda.q_history", "layer.q_conv, kda.k_history"),
    ("no SiLU gate on MLA", MODEL, "backend_.mul_sigmoid(o, gate, o);", ""),
    ("MLA scale 1/sqrt(nope)", ATTENTION, "static_cast<float>(s.nope + s.rope)", "static_cast<float>(s.nope)"),
    ("MLA latent norms with 1e-5", "src/model/loaded_model.h", "mla_norm_epsilon = 1e-6f", "mla_norm_epsilon = 1e-5f"),
    ("MLA attends to one key too few", ATTENTION, "position + r + 1)", "position + r + (position + r == 0))"),
    ("correction bias in the weights", ROUTING, "Number weight = s[order[j]];",
     "Number weight = s[order[j]] + bias[order[j]];"),
    ("selection without the bias", ROUTING, "left = s[a] + bias[a], right = s[b] + bias[b]",
     "left = s[a], right = s[b]"),
    ("latent norm missing", MODEL,
     "backend_.rms_norm(routed, layer.latent_norm, shape_.norm_epsilon, routed);", ""),
    ("w1 and w3 exchanged", WEIGHTS, ".gate_codes = memory + at[0]", ".gate_codes = memory + at[4]"),
    ("SiTU betas exchanged", MODEL, "{shape_.situ_beta, shape_.situ_linear_beta}, s.rows_of",
     "{shape_.situ_linear_beta, shape_.situ_beta}, s.rows_of"),
    ("no restart at a block boundary", MODEL, "backend_.copy(s.out, s.stream);", "backend_.add(s.out, s.stream);"),
    ("anchor is the mixture", "src/model/model_scratch.cpp", "backend.copy(stream, anchors.back());",
     "backend.copy(mixed, anchors.back());"),
    ("output mixture omitted", MODEL,
     "backend_.attn_residual(s.sources(), s.output_residual, shape_.norm_epsilon, s.mixed);",
     "backend_.copy(s.stream, s.mixed);"),
    ("residual scores without the norm weight", WEIGHTS, "std::multiplies<>()", "[](float, float p) { return p; }"),
    ("shared experts missing", MODEL, "backend_.add(s.normed, out);", "backend_.copy(s.normed, out);"),
]


def apply(tree, file, text, replacement):
    path = tree / file
    source = path.read_text()
    if text == "GATED_HEAD_NORM":
        a = "norm_row(numbers(o) + h * d, numbers(gain), d, epsilon, out);"
        b = "kernels_.mul_sigmoid(out, numbers(gate) + h * d, out, d);"
        assert a in source and b in source
        changed = source.replace(b, "norm_row(out, numbers(gain), d, epsilon, out);").replace(
            a, "kernels_.mul_sigmoid(numbers(o) + h * d, numbers(gate) + h * d, out, d);")
    else:
        assert source.count(text) >= 1, f"{file} no longer holds: {text}"
        changed = source.replace(text, replacement, 1)
    path.write_text(changed)
    return source


def golden(build):
    subprocess.run(["cmake", "--build", build, "--target", "golden_test"], check=True, stdout=subprocess.DEVNULL)
    run = subprocess.run([build / "tests/golden/golden_test", "--gtest_filter=*cpu*", "--gtest_brief=1"],
                         capture_output=True, text=True, check=False)
    failed = [line for line in run.stdout.splitlines() if line.startswith("[  FAILED  ] All/")]
    return run.returncode, len({line.split(",")[0] for line in failed})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/mutations", type=pathlib.Path)
    parser.add_argument("--only", default="", help="mutations whose description holds this text")
    args = parser.parse_args()
    tree, build = args.build / "source", args.build / "build"
    shutil.rmtree(tree, ignore_errors=True)
    # Copies are newer than what an earlier run built from a mutated file.
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns("build", ".git"), copy_function=shutil.copy)
    # A mutation may leave a variable unused, which is no reason not to build it: no warnings.
    subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                    "-DCMAKE_CXX_FLAGS=-w"], check=True, stdout=subprocess.DEVNULL)
    status, _ = golden(build)
    if status != 0:
        sys.exit("the golden test fails without any mutation")
    survivors = 0
    print("| mutation | golden tests that fail |\n|---|---|")
    for what, file, text, replacement in MUTATIONS:
        if args.only not in what:
            continue
        original = apply(tree, file, text, replacement)
        status, failures = golden(build)
        (tree / file).write_text(original)
        survivors += status == 0
        print(f"| {what} | {failures if status else 'SURVIVED'} |", flush=True)
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
