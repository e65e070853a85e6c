# What a person runs. `make` alone lists it.

CARGO ?= cargo
# Where cargo builds to; the environment may move it, for example out of a read-only tree.
BUILD := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help demo build test test-needs lint format bench bench-cdc backlog bench-zero-copy build-bench kubernetes simulate fuzz outbox-examples suites outgrow chaos-cdc browser-tests trace-tests generated package-files chaos-saga

help: ## List what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 18

demo: ## Build and show everything working; ONCE=1 exits by itself; FAULT=payment-declined|out-of-stock|db-paused|slow-payment|duplicate-events|poison
	$(CARGO) build --release --package pillion --package pillion-saga
	@$(BUILD)/release/pillion demo $(if $(filter-out 0 no false,$(ONCE)),--once) $(if $(FAULT),--fault=$(FAULT)) $(DEMO_FLAGS)

build: ## Build the binary: target/release/pillion
	$(CARGO) build --release --package pillion

test: test-needs ## Install what tests need if it is missing, and run all of them
	$(CARGO) build --workspace --bins
	$(CARGO) test --workspace

test-needs: ## Install what tests need (as root on Debian; elsewhere say what is missing)
	@bash .ci/test-needs

lint: ## Check format, lints, and licences of dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check licenses bans sources; \
	else echo "cargo-deny is not installed, licences are not checked (cargo install cargo-deny)"; fi

format: ## Format the code
	$(CARGO) fmt --all

generated: ## Write what is generated and kept: docs/configuration.md, the list of what is built in
	$(CARGO) tree --package pillion --edges normal --prefix none --no-dedupe --target x86_64-unknown-linux-gnu \
		--format '{p} {l}' --locked | grep -v '(/' | sed 's/ v/ /; s/ (proc-macro)//' | LC_ALL=C sort -u \
		> pillion/src/cli/version/dependencies.txt
	$(CARGO) run --package pillion -- config keys --markdown > $(BUILD)/configuration.md
	mv $(BUILD)/configuration.md docs/configuration.md

package-files: ## Write completions and manual pages for packages to target/package-files; PILLION=program
	@test -n "$(PILLION)" || $(CARGO) build --release --package pillion
	mkdir -p target/package-files
	$(or $(PILLION),$(BUILD)/release/pillion) generate man target/package-files/man
	for shell in bash zsh fish; do \
		$(or $(PILLION),$(BUILD)/release/pillion) generate completions $$shell > target/package-files/pillion.$$shell; done

BENCH = $(BUILD)/release/pillion-bench

bench: build-bench ## Measure the broker; with KAFKA_HOME=DIR beside Apache Kafka; QUICK=1 for a short look
	@$(BENCH) suite --directory $(BUILD)/bench $(if $(filter-out 0 no false,$(QUICK)),--quick) $(BENCH_FLAGS)

bench-cdc: build-bench ## Measure the connector beside the walsender alone; KAFKA_HOME=DIR, DEBEZIUM=PROGRAM beside those; QUICK=1
	@$(BENCH) cdc --directory $(BUILD)/bench $(if $(filter-out 0 no false,$(QUICK)),--quick) $(BENCH_CDC_FLAGS)

backlog: build-bench ## Fill a log in little memory, read it back and check it; SIZE=18G
	@$(BENCH) backlog --directory $(BUILD)/bench $(if $(SIZE),--size $(SIZE)) $(BACKLOG_FLAGS)

bench-zero-copy: build-bench ## Compare the ways to move bytes: read, write, mmap, sendfile
	@$(BENCH) zero-copy --directory $(BUILD)/bench $(ZERO_COPY_FLAGS)

# A Python that has `websockets`: Debian's own, as a rule.
BROWSER_PYTHON ?= $(or $(shell for python in python3 /usr/bin/python3; do $$python -c 'import websockets' 2>/dev/null && echo $$python && break; done),python3)

build-bench:
	$(CARGO) build --release --package pillion --package pillion-bench

simulate: ## The log against a plain model on a failing disk, until it breaks; SEED=n tells one story
	PILLION_SIMULATE=$(SEED) $(CARGO) test --release --package pillion-broker --lib -- --ignored --nocapture \
		log::simulation::stories_without_end

fuzz: ## Whatever reads bytes from outside against bytes of all kinds, a minute each; FUZZ_SECONDS=60
	@CARGO="$(CARGO)" FUZZ_SECONDS="$(FUZZ_SECONDS)" FUZZ_TARGETS="$(FUZZ_TARGETS)" bash fuzz/run.sh

trace-tests: ## The demo's traces through a real collector into a real Jaeger; JAEGER=path, COLLECTOR=path
	$(CARGO) build --package pillion --package pillion-saga --bins
	JAEGER="$(JAEGER)" COLLECTOR="$(COLLECTOR)" python3 tests/tracing/run.py $(BUILD)/debug/pillion

outbox-examples: ## The outbox programs that fetch packages: Rust with sqlx, Python, Go, Node.js, Java; ONLY=go
	$(CARGO) build --package pillion
	$(CARGO) test --package pillion-outbox --features sqlx/runtime-tokio
	$(CARGO) test --package pillion-tests --test end_to_end -- --ignored outbox_examples::an_outbox_in_$(ONLY)

chaos-cdc: ## Kill, stop, pause and cut off connector, broker and Postgres at random; MINUTES=5, SEED=n; KAFKA_HOME=DIR for Kafka too
	$(CARGO) build --package pillion --package pillion-tests --bins
	@MINUTES="$(MINUTES)" SEED="$(SEED)" $(BUILD)/debug/chaos-cdc

chaos-saga: ## Kill every service of the saga, connector, broker and Postgres at every step of it; MINUTES=n ends it sooner
	$(CARGO) build --package pillion --package pillion-saga --bins
	@MINUTES="$(MINUTES)" $(CARGO) test --package pillion-tests --test saga -- --ignored --nocapture

outgrow: ## The connector moves to three nodes of Apache Kafka whose leaders are killed; KAFKA_RUN=command, SECURED=1
	@test -n "$(PILLION)" || $(CARGO) build --package pillion
	python3 tests/outgrow/run.py $(if $(filter-out 0 no false,$(SECURED)),--secured) $(OUTGROW_FLAGS) $(or $(PILLION),$(BUILD)/debug/pillion)

browser-tests: ## The console and the demo's traces in a headless Chromium; ONLY=name of a check, PICTURES=directory
	$(CARGO) build --package pillion --package pillion-saga --bins
	$(BROWSER_PYTHON) tests/browser/run.py $(BUILD)/debug/pillion $(if $(PICTURES),--pictures $(PICTURES)) $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,python3 tests/browser/traces.py $(BUILD)/debug/pillion $(PICTURES))

kubernetes: ## Hold deploy/kubernetes against Kubernetes' own schema; needs a Python package index
	bash tests/kubernetes/validate.sh

suites: ## Other projects' test suites against target/debug/pillion (or PILLION=…); SUITES=path/to/suite, ONLY="rdkafka …"
	@test -n "$(PILLION)" || $(CARGO) build --package pillion
	python3 tests/suites/run.py $(or $(PILLION),$(BUILD)/debug/pillion) $(ONLY)
