# Every command that this repository knows; `make` lists them. What they need:
# Go, a C compiler (the race detector), and two databases, which are found or
# installed by themselves (CONTRIBUTING.md).

GO ?= go
FUZZTIME ?= 20s
BENCH ?= .
COUNT ?= 6
PEERS ?= runs
# The registry that `make lambda` puts into the zip.
CONFIG ?= examples/cronce.yaml
SEED ?= 1
RUNS ?= 2000
# Where the simulations have their ledger: memory, sqlite, postgres.
ENGINES ?= memory,sqlite
DURATION ?= 2m
JOBS ?= 10000
# The versions of test-postgres-versions; empty: all.
POSTGRES ?=
# Stamped into bin/cronce; empty: what the Go tool knows of the commit.
VERSION ?=

# The scheduler and the kit. First what takes longest.
PRODUCT = ./ledger/postgres ./internal/simulate ./internal/cli ./cmd/lambda ./... ./idempotency/... ./internal/testdb/...
# The kits for frameworks, and what is not released. Their tests need large libraries, so test-modules runs them.
FRAMEWORKS = idempotency/echo idempotency/gin idempotency/grpc idempotency/nats
UNRELEASED = bench chaos examples/frameworks idempotency/stripetest web/browsertest

# One version of the linter for every machine. It is built from source, about a
# minute the first time, since a prebuilt binary lags behind the Go release.
GOLANGCI = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Starts one PostgreSQL and one MariaDB that the test binaries of all packages
# share, runs a command, and stops them.
WITH_DATABASES = bin/with-databases

# The race detector watches all code but SQLite's, which is C translated to Go:
# that takes most of the time and can show nothing of ours.
RACE = -race -gcflags='modernc.org/...=-race=false'

# The packages whose goroutines share memory. Of the function and of the command line,
# the tests that work at many messages and that run a daemon. The kit's other engines
# share the code of these two.
RACED = ./api/... ./cleanup ./executor/... ./internal/access ./internal/cli/serve ./internal/operations ./internal/rollover \
	./internal/simulate ./internal/telemetry ./ledger/... ./notify/... ./targets/... ./web ./idempotency ./idempotency/postgres ./idempotency/sqlite ./idempotency/vendorhttp ./idempotency/verify
DAEMONS = Serve|Signal|Reload|Registry|Kill|Server|Drain|Backup|Hangup|Metrics|Act[A-Z]

# `make lint` vets, with the other linters. As part of a test, vet reads all packages that
# a test imports first: a quarter of the time on a machine that has compiled nothing.
TEST = $(GO) test -vet=off

# When two threads fire timers of one synctest bubble, the race detector itself
# crashes (golang/go#78156). So packages with bubbles run on one thread under it:
# it still finds races, since it judges by what is ordered, not by what overlaps.
IMPORTS = $(GO) list -f '{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}'
BUBBLED = $$($(IMPORTS) $(1) | awk '/testing.synctest/ {print $$1}')
UNBUBBLED = $$($(IMPORTS) $(1) | awk '!/testing.synctest/ {print $$1}')

.DEFAULT_GOAL = help
.PHONY: tidy lambda test-lambda check-cloudformation check-terraform help build test test-race test-modules test-node test-deploy test-postgres-versions lint fmt bench bench-purge bench-peers fuzz simulate chaos load soak screenshots clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/cronce: the daemon and command line, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/cronce ./cmd/scheduler

# More packages at once than processors: many a test waits for a server or a lease.
test: $(WITH_DATABASES) ## every test of the scheduler and the kit on every engine (SHORT=1: none that needs a server)
	$(WITH_DATABASES) $(TEST) -p 4 -parallel 4 -shuffle=on -timeout 15m $(PRODUCT)

test-race: $(WITH_DATABASES) ## the tests of all that runs concurrently, with the race detector, which takes several times as long
	$(WITH_DATABASES) $(TEST) $(RACE) -p 4 -shuffle=on -timeout 20m $(call UNBUBBLED,$(RACED))
	$(WITH_DATABASES) $(TEST) $(RACE) -cpu 1 -p 4 -shuffle=on -timeout 20m $(call BUBBLED,$(RACED))
	$(WITH_DATABASES) $(TEST) $(RACE) -timeout 20m -run '$(DAEMONS)' ./internal/cli
	$(WITH_DATABASES) $(TEST) $(RACE) -cpu 1 -timeout 20m -run Batch ./cmd/lambda
	scripts/each-module idempotency/grpc idempotency/nats -- $(WITH_DATABASES) $(TEST) -race -timeout 20m ./...

test-modules: $(WITH_DATABASES) ## every nested module of go.work with the versions of its own go.mod: vet all, test those that `make test` leaves out
	scripts/each-module -- $(GO) vet ./...
	scripts/each-module $(FRAMEWORKS) $(UNRELEASED) -- $(WITH_DATABASES) $(TEST) -timeout 20m ./...

test-postgres-versions: $(WITH_DATABASES) ## the ledger and the kit on PostgreSQL 14 to 18, from npm packages (POSTGRES="14 18": on those)
	scripts/test-postgres-versions $(POSTGRES) -- $(WITH_DATABASES) $(TEST) -count 1 -timeout 30m ./migrations ./ledger/postgres/... ./idempotency/postgres/... ./idempotency/pgsql/...

test-deploy: ## deploy/ against the programs and schemas that read it (as root, it installs what is missing)
	cd deploy/test && $(GO) vet ./... && $(GO) test -timeout 15m ./...

lint: ## format, vet, staticcheck and the rest of .golangci.yml, and go.mod and go.sum, of every module
	$(GOLANGCI) run $(PRODUCT) $(patsubst %,./%/...,$(FRAMEWORKS))
	scripts/each-module $(UNRELEASED) -- $(GOLANGCI) run ./...
	cd deploy/test && $(GOLANGCI) run ./...
	scripts/tidy -diff

tidy: ## go mod tidy in every module of go.work, with the others taken from the tree
	scripts/tidy

test-node: $(WITH_DATABASES) ## the kit for TypeScript: format, types and tests, on PostgreSQL and MariaDB and beside the kit for Go (Node.js 20 or later, npm)
	cd kits/typescript && npm ci --no-audit --no-fund && npm run lint && ../../$(WITH_DATABASES) npm test

fmt: ## format all Go code
	gofmt -w .

bench: $(WITH_DATABASES) ## every benchmark, on servers that write to disk (BENCH=regexp, COUNT=times)
	$(WITH_DATABASES) -durable $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) -timeout 60m $(PRODUCT)

bench-purge: $(WITH_DATABASES) ## the purge beside one DELETE, with 2,000 inserts/s (PURGE_KEYS=5000000: at full size)
	$(WITH_DATABASES) -durable $(GO) test ./cleanup -run '^$$' -bench Purge -benchtime 1x -count $(COUNT) -timeout 0

bench-peers: $(WITH_DATABASES) ## beside other libraries (PEERS=runs, minute, growth, idle, pages, keyed, fan or api; ARGS="-rounds 5", see docs/benchmarks.md; ARGS="-against baseline.json" fails at a ratio that is a fifth worse)
	cd bench && ../$(WITH_DATABASES) -durable $(GO) run ./$(PEERS) $(ARGS)

fuzz: $(WITH_DATABASES) ## every fuzz test, each for FUZZTIME
	$(WITH_DATABASES) scripts/fuzz $(FUZZTIME) $(PRODUCT)

simulate: ## RUNS simulations of the whole system in virtual time under faults, from SEED on, and a tenth of them on SQLite (SEED=n RUNS=1: that one again; ENGINES=postgres: a 25th of them on PostgreSQL)
	$(GO) test ./internal/simulate -run '^TestSimulation' -count 1 -timeout 0 -v -args -seed $(SEED) -simulations $(RUNS) -engines $(ENGINES)

lambda: $(CONFIG) ## dist/lambda-{arm64,amd64}.zip: the function (at most 12 MB) and the registry CONFIG, the same bytes each time; refuses what check refuses
	$(GO) run ./cmd/scheduler check --no-env --config $(CONFIG) >/dev/null
	for arch in arm64 amd64; do \
		GO="$(GO)" scripts/build-lambda $$arch bin/lambda-$$arch/bootstrap && \
		$(GO) run ./internal/export/cmd/lambda-zip -o dist/lambda-$$arch.zip bootstrap=bin/lambda-$$arch/bootstrap cronce.yaml=$(CONFIG) || exit 1; \
	done

# The whole contract of the ledger, built as the Lambda builds it.
test-lambda: $(WITH_DATABASES) ## the PostgreSQL engines with the Lambda's build tags, and the function as it is shipped
	SHIPPED=1 $(WITH_DATABASES) $(TEST) -tags lambda.norpc,nopgxregisterdefaulttypes,nethttpomithttp2 -timeout 10m ./ledger/postgres/... ./idempotency/postgres/... ./cmd/lambda

check-cloudformation: ## hold the exported templates against AWS's own types and cdk-nag (needs npm; with the AWS CLI and cfn-lint, against these too)
	scripts/check-cloudformation

check-terraform: ## hold the exported configurations against the schema of hashicorp/aws (needs npm; with terraform and its registry, against these too)
	scripts/check-terraform

# Not cached, and with a story as long as it takes.
CHAOS = cd chaos && $(GO) test -count 1 -timeout 0

chaos: ## real processes killed, networks cut and databases crashed for DURATION on each engine (SEED=n: those faults again)
	$(CHAOS) -run "Doubled|OneEffect" -v -args -duration $(DURATION) -seed $(SEED)

load: ## JOBS jobs due in the same second: how late they are, and the memory
	$(CHAOS) -run TestLoad -v -args -jobs $(JOBS)

soak: ## a scheduler without faults for DURATION on each engine: memory and goroutines must not grow
	$(CHAOS) -run TestSoak -v -args -soak $(DURATION)

# The pictures of the documentation, from a ledger with a made-up past.
screenshots: ## the pictures of the dashboard that pages show, to docs/images (see scripts/install-browser)
	scripts/each-module web/browsertest -- $(GO) test -count 1 -run TestPictures . -args -pictures $(CURDIR)/docs/images

clean: ## remove what was built
	rm -rf bin dist

.PHONY: $(WITH_DATABASES)
$(WITH_DATABASES):
	$(GO) build -o $@ ./internal/testdb/cmd/with-databases
