# Two commands are enough: `make run` and `make test`. Both install what is missing (Debian, Ubuntu) and build first.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build run chat test test-long test-unit test-databases fault-test compose-test test-postgres test-redis check-api check-deploy lint fmt stats bench clean

# debug builds several times faster; release is what to measure and to deploy.
CONFIGURATION ?= debug
# Further words: make run ARGS="--gateways 2", make test ARGS="--filter Replay", make bench ARGS="--help"
ARGS ?=

help:
	@echo "make run     install what is missing, build, and run everything on this machine (strata dev)"
	@echo "make chat USER=alice   a chat in the terminal, beside make run; chat with bob in another terminal"
	@echo "make test    the same set-up, then the tests of the short tier, about 15 minutes after the build"
	@echo "make test-long   check-api and all tests, with all seeds of simulations and all faults, on one database and on two: before a release"
	@echo "make test-unit   only the tests that need no servers, for the inner loop"
	@echo "make test-databases   the tests of whole systems, the faults and the histories, each system with two databases"
	@echo "make fault-test   only the faults under load: processes, Redis and PostgreSQL killed, stopped and hanging"
	@echo "make compose-test   the images, and the deployment tried with a real Docker Engine"
	@echo "make test-postgres VERSION=17   schema, statements, plans, conformance and demo on that PostgreSQL (15, 17, 18), unpacked into .build"
	@echo "make test-redis VERSION=8   the same for Redis (7, 8, valkey, valkey-9)"
	@echo "make check-deploy   the files of the deployment, by their validators"
	@echo "make check-api   the descriptions in docs/ against a running Strata (downloads schemathesis the first time)"
	@echo "make lint    format, licence headers, references between files, versions, the voice of comments, and NOTICE"
	@echo "make fmt     put the format right"
	@echo "make stats   counts of files, lines, types, targets, comments and words of documents"
	@echo "make bench   Strata under load, and its parts, against baselines (release build, an hour); make bench ARGS=\"chat --deliveries 1000\""
	@echo "make clean   remove what was built; data in .strata/ stays"

setup:
	@scripts/setup.sh

build: setup
	@scripts/build.sh $(CONFIGURATION)

# exec, so that Ctrl-C and the exit status belong to strata alone.
run: build
	@exec .build/$(CONFIGURATION)/strata dev $(ARGS)

# Examples/Chat. Further words: make chat USER=alice ARGS="--display-name Alice"
chat: build
	@exec scripts/chat.sh .build/$(CONFIGURATION) "$(USER)" $(ARGS)

test: setup
	@scripts/build.sh debug --build-tests
	@scripts/venv.sh || echo "Python packages cannot be installed here; tests that need them are skipped." >&2
	@scripts/test.sh $(ARGS)

test-long: setup
	@scripts/build.sh debug --build-tests
	@scripts/check-api.sh
	@scripts/test.sh long
	@$(MAKE) --no-print-directory test-databases

test-unit: setup
	@scripts/build.sh debug --build-tests
	@scripts/test.sh unit $(ARGS)

# STRATA_TEST_DATABASES: how many databases each system has.
test-databases: export STRATA_TEST_DATABASES := $(or $(STRATA_TEST_DATABASES),2)
test-databases: setup
	@scripts/build.sh debug --build-tests
	@scripts/test.sh --filter '^(EndToEndTests|ConformanceTests|FaultTests)\.' $(ARGS)

# Writes its section of docs/faults.md. LONG=1: an hour of random faults, and what breaks stays broken for up to 20 s.
fault-test: export STRATA_FAULT_TABLE := 1
fault-test: export STRATA_FAULT_MINUTES := $(if $(LONG),60)
fault-test: setup
	@scripts/build.sh debug --build-tests
	@scripts/test.sh --filter '^FaultTests\.' $(ARGS)

compose-test:
	@scripts/compose-test.sh

# ARGS=short: what CI runs. Other words choose the tests, as for scripts/test.sh.
test-postgres test-redis: test-%: setup
	@scripts/build.sh debug --build-tests
	@scripts/test-versions.sh $* "$(VERSION)" $(ARGS)

check-deploy:
	@scripts/check-deploy.sh

check-api: build
	@scripts/check-api.sh

lint:
	@scripts/lint.sh

fmt:
	@find Shared Services Tools Clients Examples Tests docs Package.swift -name '*.swift' ! -path '*/.build/*' ! -name '*.pb.swift' -print0 | xargs -0 swift format -i --parallel

stats:
	@scripts/stats.py

bench: setup
	@scripts/build.sh release
	@exec .build/release/bench $(ARGS)

clean:
	@swift package clean
