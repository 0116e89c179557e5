# Two commands are enough to begin: make demo, make test.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
LINT_VERSION := 2.15.0
# ARGS are the flags of the demo, BENCH chooses benchmarks: make demo ARGS="--for 30s", make bench BENCH=FanOut
ARGS ?=
BENCH ?= .
PKG ?= ./...
FUZZTIME ?= 10s
SOAK_TIME ?= 60s
SOAK_CHECKS ?= 1000

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run the whole of Tallyman on a simulated warehouse; needs nothing but Go
	@echo "Building tallyman; the first time takes a minute or two."
	@$(GO) build -trimpath -o bin/tallyman ./cmd/tallyman
	@exec bin/tallyman demo $(ARGS)

.PHONY: build
build: ## Build bin/tallyman
	$(GO) build -trimpath -o bin/tallyman ./cmd/tallyman

# The tests of these packages drive databases, processes or a single goroutine. There the race detector finds little and
# costs most, so make test runs these tests without it. make race watches these packages, too. No test run calls go vet,
# because make check does.
UNWATCHED := ./cmd/... ./configs/... ./deploy/... ./docs/... ./engine/crashtest/... ./internal/finding/... ./internal/notice/... ./engine/trial/rulediff/... \
	./examples/... ./internal/app/... ./internal/cli/... ./internal/config/... ./internal/console/... ./internal/demo/... ./internal/e2e/... \
	./internal/ledger/... ./rules/... ./scanners/... ./sinks/inbox/page/... ./internal/item/... ./sinks/render/... ./sinks/scrub/...

# SQLite is C translated into Go. The race detector does not watch it. It has no debug information, which would take
# half of its time to compile. Leave out no other package: an unwatched package brings unwatched copies of generic
# methods of the standard library (sync.Map). The linker takes these copies for the whole program, and the detector
# reports races that do not exist.
UNWATCHED_C := '-gcflags=modernc.org/sqlite/lib=-race=false -dwarf=false -dwarflocationlists=false'

# Packages whose tests judge whether nodes do due work in time. These tests use the whole machine, so nothing else runs
# beside them.
ALONE := ./internal/e2e

# At its end a test binary waits this long for races that other goroutines have not reported yet. The default is a
# second. Our packages leave no goroutines behind, so they need no long wait.
RACE_END := atexit_sleep_ms=50

.PHONY: test-deps
test-deps: ## Install, on Debian as root, the servers and Chromium that tests need
	@scripts/test-deps.sh cc redis postgres pgbouncer faketime mariadb sqlite3 curl python3 node chromium packages

.PHONY: test
test: test-deps ## Run all tests, and those in a browser
	@scripts/beside.sh "scripts/console.sh test && scripts/clients.sh test" make --no-print-directory test-go; \
	$(GO) test -vet=off -timeout 30m $(ALONE)

# The packages without the race detector come first, because they are compiled by now. Their tests wait for servers and
# timers much of the time. Meanwhile the watched packages compile, with the processor time that the tests leave.
.PHONY: test-go
test-go: export GORACE := $(RACE_END) $(GORACE)
test-go: ## Run the Go tests but those that run alone
	@unwatched=$$($(GO) list $(UNWATCHED)); \
	watched=$$(echo $$($(GO) list ./... | grep -vxF "$$unwatched")); \
	scripts/beside.sh "nice -n 19 $(GO) build -race $(UNWATCHED_C) $$watched" \
		$(GO) test -vet=off -parallel 4 -timeout 30m $$(grep -vxF "$$($(GO) list $(ALONE))" <<<"$$unwatched"); \
	$(GO) test -vet=off -race $(UNWATCHED_C) -parallel 4 -timeout 30m $$watched; \
	cd deploy/tools; $(GO) test -vet=off ./...

.PHONY: test-site
test-site: ## Run the tests with servers that a site has and CI does not start: nginx, HAProxy, Caddy
	@scripts/test-deps.sh cc redis postgres nginx haproxy caddy
	$(GO) test -tags site -run '^TestSite' -parallel 4 -timeout 30m ./internal/e2e

.PHONY: quick
quick: ## Check and test what has changed and what imports it, in about a minute (BASE=commit)
	@scripts/quick.sh $(LINT_VERSION)

.PHONY: race
race: export GORACE := $(RACE_END) $(GORACE)
race: ## Run all Go tests with the race detector, and those of the benchmarks (PKG=./folder)
	@scripts/test-deps.sh cc redis postgres pgbouncer faketime mariadb sqlite3 curl python3 node packages
	$(GO) test -race $(UNWATCHED_C) -parallel 4 -timeout 20m $(PKG)
	@[ '$(PKG)' != ./... ] || { cd bench && $(GO) test -vet=off ./...; }

.PHONY: soak
soak: ## Do for longer what make test does at random for a short while (SOAK_TIME=60s, SOAK_CHECKS=1000)
	@scripts/test-deps.sh cc redis postgres
	TALLYMAN_SOAK=$(SOAK_TIME) $(GO) test -vet=off -race $(UNWATCHED_C) -run '^TestSoak' -timeout 60m ./sinks/queue
	TALLYMAN_SOAK=$(SOAK_TIME) $(GO) test -vet=off -run 'AtAnyMoment$$' -timeout 60m ./internal/e2e
	$(GO) test -vet=off -run 'AgainstAModel$$|^TestModel$$|^TestNeverTwoHolders$$|^TestLiveRules$$' -timeout 60m ./sinks/queue ./sinks/inbox ./sinks/push ./internal/session ./engine \
		-rapid.checks=$(SOAK_CHECKS)
	$(GO) test -vet=off -run '^TestLedger$$/as_the_model$$' -timeout 60m ./internal/ledger/postgres ./internal/ledger/sqlite -rapid.checks=$(SOAK_CHECKS)

.PHONY: check
check: ## Check lint (with format and go vet), generated code, the console, clients of the API, go.mod and what a site deploys
	@scripts/test-deps.sh protoc node
	@scripts/beside.sh "scripts/console.sh check && scripts/clients.sh check" make --no-print-directory lint; \
	echo "generated code"; scripts/generate.sh --check; \
	echo "go.mod"; $(GO) mod tidy -diff; \
	(cd bench; $(GO) mod tidy -diff); \
	(cd deploy/tools; $(GO) mod tidy -diff); \
	echo "deploy"; $(MAKE) --no-print-directory deploy-check

.PHONY: lint
# Another checkout on the machine may be linted at the same time.
lint: ## Lint, with format and go vet
	@lint=$$(scripts/golangci-lint.sh $(LINT_VERSION)); \
	echo "lint"; "$$lint" run --allow-parallel-runners ./...; \
	(cd clients/go; "$$lint" run --allow-parallel-runners ./...); \
	(cd bench; "$$lint" run --allow-parallel-runners ./...); \
	cd deploy/tools; "$$lint" run --allow-parallel-runners ./...

.PHONY: deploy-check
deploy-check: ## Check what a site deploys: each alert, the chart by Helm and by the schemas of Kubernetes
	@scripts/test-deps.sh promtool
	@cd deploy/alerts; promtool check rules tallyman.yaml; promtool test rules alerts_test.yaml; promtool check config --syntax-only ../compose/prometheus.yml
	@cd deploy/test; $(GO) mod tidy -diff; $(GO) -C schemas mod tidy -diff; $(GO) test -vet=off -count=1 ./...   # Go does not see changes of files outside of a module

.PHONY: image
image: ## Build the image of a node with buildah, on Debian as root, and run what is in it (VERSION=0.1.0, IMAGE_ARCH=arm64)
	@scripts/test-deps.sh buildah
	@scripts/image.sh $(VERSION)

.PHONY: console
console: ## Build the console and the widget again: internal/console/web into internal/console/dist
	@scripts/test-deps.sh node
	@scripts/console.sh build

.PHONY: widget
widget: ## Build the widget's npm package into bin/tallyman-inbox
	@scripts/test-deps.sh node
	@scripts/console.sh package

.PHONY: release
release: ## Make the files of a release in dist/: archives, deb, rpm, bills of materials, checksums (VERSION=0.1.0)
	@scripts/release.sh '$(VERSION)'

.PHONY: try-release
try-release: ## Do on a clean Debian what a site does with a release: install, init, doctor, restore, upgrade; as root (DEB=file)
	@scripts/test-deps.sh cc debian
	@scripts/try-release.sh $(DEB)

.PHONY: screenshots
screenshots: ## Take a picture of every page of the console and of the widget, at three sizes, in light and dark, in both languages: into bin/screenshots, and what the README shows into docs/screenshots
	@scripts/test-deps.sh node chromium fonts
	@scripts/console.sh screenshots

.PHONY: bench
bench: ## Measure against the raw libraries and print the ratios, and how soon the console answers (BENCH=name, BENCH=Console, PKG=./folder)
	@scripts/test-deps.sh redis postgres mariadb node chromium
	@if [ '$(BENCH)' != Console ]; then scripts/bench.sh '$(BENCH)' $(PKG); fi
	@case '$(BENCH)' in .|Console) scripts/console.sh bench ;; esac

.PHONY: bench-queue
bench-queue: ## Measure the queue beside asynq, River and plain lists, in ten minutes (BENCH=name)
	@scripts/test-deps.sh redis postgres
	@cd bench && $(GO) test ./... && BENCHTIME="$${BENCHTIME:-2x}" ../scripts/bench.sh '$(BENCH)' ./...

.PHONY: bench-scale
bench-scale: ## Measure a node with 400 to 100,000 scopes of rules, beside vmalert, five minutes for each load (SCALE_TIME=30s)
	@scripts/test-deps.sh redis postgres victoria-metrics
	@cd bench && SCALE_TIME="$${SCALE_TIME:-5m}" BENCHTIME=1x ../scripts/bench.sh Firings ./...

.PHONY: bench-growth
bench-growth: ## Measure a ledger with 1,000,000 and with 10,000,000 notices (GROWTH_NOTICES=200000,1000000)
	@scripts/test-deps.sh postgres
	@GROWTH_NOTICES="$${GROWTH_NOTICES:-1000000,10000000}" BENCHTIME=1x scripts/bench.sh Growth ./internal/ledger/postgres

.PHONY: bench-pressure
bench-pressure: ## Measure how two nodes recover from restarts, kills, exhaustion and load, in 45 minutes (PRESSURE_TIME=20s)
	@scripts/test-deps.sh redis postgres
	@cd bench && PRESSURE_TIME="$${PRESSURE_TIME:-1m}" BENCHTIME=1x ../scripts/bench.sh Pressure ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a short while (FUZZTIME=10s)
	@scripts/fuzz.sh $(FUZZTIME) $(PKG)

.PHONY: fmt
fmt: ## Format the code
	@"$$(scripts/golangci-lint.sh $(LINT_VERSION))" fmt

.PHONY: generate
generate: ## Write the generated code again
	@scripts/test-deps.sh protoc node
	@scripts/generate.sh

.PHONY: clean
clean: ## Remove what the targets above have built
	rm -rf bin dist
