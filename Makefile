# SPDX-License-Identifier: Apache-2.0
# Thin: every target calls a preset (CMakePresets.json) or a script (tools/).
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 30
sources = $(shell find nodup cli tests bench experiments examples -name '*.[ch]pp' | sort)

.PHONY: build demo test bench lab fuzz tsan format lint install clean
.DEFAULT_GOAL := build

# Configures and builds one preset. (Lines that call $(MAKE) do nothing else: `make -n` runs such lines.)
preset-%:
	@cmake --preset $* && cmake --build --preset $*

build:
	tools/install_deps
	$(MAKE) preset-release

demo: build
	@tools/demo

test:
	tools/install_deps
	$(MAKE) preset-dev
	ctest --preset dev
	$(MAKE) preset-asan
	ctest --preset asan

bench:
	tools/install_deps bench
	$(MAKE) preset-bench
	bench/run

lab:
	tools/install_deps lab
	$(MAKE) preset-lab
	experiments/run

fuzz:
	tools/install_deps fuzz
	$(MAKE) preset-fuzz
	for f in build/fuzz/bin/*_fuzz; do "$$f" -max_total_time=$(FUZZ_SECONDS) || exit 1; done

tsan:
	tools/install_deps
	$(MAKE) preset-tsan
	ctest --preset tsan

format:
	clang-format -i $(sources)

lint:
	clang-format --dry-run --Werror $(sources)
	tools/check_layers --headers

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
