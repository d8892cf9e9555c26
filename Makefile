# The README's commands. Every target says what it does: make help.

GO       ?= go
VERSION  ?= devel
REVISION := $(shell git rev-parse HEAD 2>/dev/null)$(shell [ -z "$$(git status --porcelain 2>/dev/null)" ] || echo +)
LDFLAGS  := -X main.version=$(VERSION) -X main.revision=$(REVISION)
TOOL     := $(GO) tool -modfile=tools/go.mod
BENCH    ?= .
COUNT    ?= 6

.DEFAULT_GOAL := help
.PHONY: help deps build load load-quick test check bench bench-stat bench-peers measure clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install MariaDB and Redis if they are missing (no service is left running)
	@scripts/deps

build: ## build bin/hotsku
	@mkdir -p bin
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/hotsku ./cmd/hotsku

load: deps build ## run the default plan on private servers and three replicas; under 5 minutes
	bin/hotsku load --plan default

load-quick: deps build ## the same in under a minute: one block, exploratory
	bin/hotsku load --plan quick

check: ## formatting, vet and the linter
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted; run gofmt -w"; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) -C bench/peers vet ./...
	GOOS=darwin $(GO) -C bench/peers vet ./...
	$(GO) -C bench/peers tool -modfile=../../tools/go.mod staticcheck ./...

test: deps check build ## everything that CI runs: checks, tests with the race detector, every claim under real load
	HOTSKU_REQUIRE_SERVICES=1 $(GO) test -race -timeout 12m ./...
	HOTSKU_REQUIRE_SERVICES=1 $(GO) -C bench/peers test -race ./...
	$(GO) test -run Porcupine ./bench/audit # all its histories; the race detector watches one in twenty
	bin/hotsku load --plan claims --out bin/claims

bench: deps ## the microbenchmarks, COUNT=6 times each, into bin/bench.txt; half an hour (BENCH=regexp chooses)
	@mkdir -p bin
	HOTSKU_REQUIRE_SERVICES=1 $(GO) test -run '^$$' -bench '$(BENCH)' -count $(COUNT) -timeout 60m ./... | tee bin/bench.txt

bench-stat: ## show the last microbenchmarks by strategy
	@[ -f bin/bench.txt ] || { echo "run make bench first"; exit 1; }
	$(TOOL) benchstat -filter '/strategy:/./' -col /strategy bin/bench.txt
	$(TOOL) benchstat -filter '-/strategy:/./' bin/bench.txt

bench-peers: deps ## the leases beside redsync and redislock, COUNT=6 rounds in shuffled order, into bin/bench-peers.txt; 9 minutes
	@mkdir -p bin && rm -f bin/bench-peers.txt
	for round in $$(seq $(COUNT)); do \
		HOTSKU_REQUIRE_SERVICES=1 $(GO) -C bench/peers test -run '^$$' -bench . . | tee -a bin/bench-peers.txt; done
	@! grep -- '^--- FAIL' bin/bench-peers.txt
	$(TOOL) benchstat -row /waiters -col /lease bin/bench-peers.txt

measure: deps ## the generator's own limits: lag, and the highest rate beside the vegeta command's
	HOTSKU_MEASURE=1 $(GO) test -run Measure -v -timeout 20m ./bench/...

clean: ## remove what was built; results/runs stays
	rm -rf bin
