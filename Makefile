# The four commands of a newcomer. Each installs the packages that it lacks (tools/packages.txt), then works
# in build/ only. Everyday work uses the presets directly; CONTRIBUTING.md lists the commands.

JOBS ?= 2
# Some tests wait more than they compute.
TEST_JOBS ?= 3
SLUICE := build/demo/bin/sluice
# The other programs of bench/ compare policies or drives, which takes minutes each.
INNER_LOOPS := kernels_bench scale_codec_bench open_checkpoint_bench

.PHONY: help demo test bench fmt

help:
	@echo "make demo    build sluice and ask the small model that comes with it a question"
	@echo "make test    build everything and run all tests"
	@echo "make bench   measure the inner loops"
	@echo "make fmt     format the C++ sources"

demo:
	@tools/install-packages demo
	cmake --preset demo
	cmake --build --preset demo -j $(JOBS)
	$(SLUICE) run --chat --prompt "What is the capital of France?" --stats

# The sanitizers come first because they find most; the optimised build comes last because it runs everything.
test:
	@tools/install-packages demo test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(TEST_JOBS)
	cmake --preset aarch64
	cmake --build --preset aarch64 -j $(JOBS)
	ctest --preset aarch64 -j $(JOBS)
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	ctest --preset release -j $(TEST_JOBS)

bench:
	@tools/install-packages demo test
	cmake --preset release
	cmake --build --preset release -j $(JOBS)
	@for name in $(INNER_LOOPS); do echo; echo "== $$name"; build/release/bench/$$name || exit 1; done

fmt:
	@tools/install-packages format
	find src tests bench -name '*.cpp' -o -name '*.h' | xargs clang-format-19 -i
