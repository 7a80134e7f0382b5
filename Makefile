# SPDX-License-Identifier: BSD-2-Clause
# The everyday commands. CMake does the work; presets are in CMakePresets.json.

PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
# PROCESSORS of a test are thirds of a core. Most tests wait rather than compute, and say nothing:
# one third. Programs that spin on both sides say 6, and are alone on two cores.
CTEST := ctest --output-on-failure -j $(shell expr 3 \* $(JOBS)) $(CTEST_FLAGS)

.PHONY: help
help:  ## show this
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: deps
deps:  ## install the packages of packaging/packages.txt that are missing
	@tools/install_deps.sh

PRESET := release
COMPILE = $(MAKE) --no-print-directory compile PRESET=$(PRESET)
.PHONY: build
build: deps  ## build into build/, runnable from there: build/bin/softib
	@$(COMPILE)

.PHONY: compile
compile:  # With the packages that are there.
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) >/dev/null
	cmake --build build -j $(JOBS)

# Installs and builds only what it runs.
# One test, or all: make dev TEST=routing_test FILTER='Tree.*'
TEST := all
.PHONY: dev
dev:  ## build file by file, without optimisation; TEST=wire_test builds and runs that one alone
	@cmake --preset dev >/dev/null
	cmake --build build-dev -j $(JOBS) --target $(TEST)
	@$(if $(filter all,$(TEST)),,\
	    $$(find build-dev -type f -name $(TEST)) $(if $(FILTER),--gtest_filter='$(FILTER)'))

# Installs and builds only what it runs.
.PHONY: demo
demo:  ## bring a fabric up and run unmodified InfiniBand programs on it
	@tools/install_deps.sh demo
	@cmake --preset demo >/dev/null
	cmake --build build -j $(JOBS) --target demo
	@tools/demo.sh build/bin/softib

# Warnings are errors here; three builds, that of AddressSanitizer by clang. Only that one has the
# unit tests, but for those of the planner, and only two of them each live test; test-long runs each
# in the other build, too.
.PHONY: test
test: PRESET := test
test:  ## build with warnings as errors, run all tests but the long ones, then sanitizers
	@tools/install_deps.sh beside $(COMPILE)
	@tools/run_tests.sh $(JOBS) $(CTEST)

SANITIZED := -L 'sanitize|unit' -LE long
PLANNER := OFF
.PHONY: test-asan test-tsan
test-tsan: build  # Its programs run on the fabric of that build.
test-asan test-tsan: test-%: deps
	@cmake --preset $* -DSOFTIB_PLANNER=$(PLANNER) $(TSAN_FLAGS) >/dev/null
	cmake --build build-$* -j $(JOBS) --target sanitized
	$(CTEST) --test-dir build-$* $(SANITIZED)

.PHONY: test-long
test-long: build  ## long tests, and others in the builds that make test leaves out
	$(CTEST) --test-dir build -L 'long|unit|live'
	@cmake --preset dev >/dev/null
# Each file alone: it includes what it uses.
	cmake --build build-dev -j $(JOBS) --target all bench_programs
	$(MAKE) test-asan SANITIZED='-L long' PLANNER=ON
# The daemon and the carrier too, of which the carrier has a second thread for sockets.
	$(MAKE) test-tsan SANITIZED='-L sanitize' TSAN_FLAGS=-DSOFTIB_FABRIC_FROM=

.PHONY: compat
compat: build  ## run the third-party programs and write docs/compat.md
	-$(CTEST) --test-dir build -R '^Clients\.' -E '^Clients\.(failures|mpi|perftest|rdmacm|ucx)$$'
	SOFTIB_BUILD=build /usr/bin/python3 tests/clients/compat_doc.py

.PHONY: validate
validate: build  ## compare the planner with published numbers, and write docs/validation.md
	build/bin/softib plan validate --markdown > docs/validation.md

.PHONY: bench
bench: build  ## measure, and write docs/performance*.md
	cmake --build build --target bench

.PHONY: install
install: build  ## install below $(DESTDIR)$(PREFIX)
	cmake --install build --prefix $(PREFIX)

.PHONY: deb
deb: build  ## make a .deb in build/
	cd build && cpack -G DEB

.PHONY: portable
portable: deps  ## make a .tar.gz in build-portable/ that needs glibc alone, as new as that here
	@cmake --preset portable >/dev/null
	cmake --build build-portable -j $(JOBS)
	cd build-portable && cpack -G TGZ

.PHONY: wheel
wheel: build  ## make a wheel of Python's module and the command in build/
	tools/make_wheel.py build build

.PHONY: clean
clean:  ## remove the build trees
	rm -rf build build-dev build-portable build-asan build-tsan
