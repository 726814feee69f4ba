# The four commands of a newcomer. Each installs the packages that it lacks (tools/packages.txt), then works
# in build/ only. Everyday work uses the presets directly; CONTRIBUTING.md lists the commands.

JOBS ?= 2
SLUICE := build/demo/bin/sluice
TINY := build/demo/tiny-k3

.PHONY: help demo test bench fmt

help:
	@echo "make demo    build sluice and let it write a few words with a tiny model"
	@echo "make test    build everything and run all tests"
	@echo "make bench   measure the inner loops"
	@echo "make fmt     format the C++ sources"

demo:
	@tools/install-packages demo
	cmake --preset demo
	cmake --build --preset demo -j $(JOBS)
	@rm -rf $(TINY)
	$(SLUICE) synth --shape tiny --to $(TINY)
	@echo "The weights of this model are random, so the text below is noise; the path to it is the real one."
	$(SLUICE) run $(TINY) --prompt "The capital of France is" --max-new 24 --stats

# The sanitizers come first because they find most; the optimised build comes last because it runs everything.
test:
	@tools/install-packages demo test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)
	cmake --preset aarch64
	cmake --build --preset aarch64 -j $(JOBS)
	ctest --preset aarch64 -j $(JOBS)
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(JOBS)

bench:
	@tools/install-packages demo test
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	@for program in build/release/bench/*_bench; do echo; echo "== $$program"; $$program || exit 1; done

fmt:
	@tools/install-packages format
	find src tests bench -name '*.cpp' -o -name '*.h' | xargs clang-format-19 -i
