# "make demo" needs only Go; "make test" also needs npm and Stripe's SDK for Python. Both
# find or download PostgreSQL.

.DEFAULT_GOAL := demo
PLATFORMS ?= linux/amd64 linux/arm64 darwin/arm64
.PHONY: help demo build test others python-sdk sdks cli samples test-browser screenshots paint first-run browser race crash soak failover test-on volume replays events database-crashes mixed walk bench scale neighbors mutants compose release lint lab-record lab-site lab-bars

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

demo: ## everything on this machine; make demo ARGS='--fresh --addr 127.0.0.1:9000'
	@# go reports every Ctrl-C as a failure, also one that stopped everything in order
	@# and compiling from nothing takes a fifth longer with the default GOGC, which is not for the demo itself
	@echo "Compiling: about a minute the first time, and a second from then on."
	@trap 'interrupted=yes' INT; GOGC=400 go run -exec 'env -u GOGC' ./cmd/ratchet demo $(ARGS) || test -n "$$interrupted"

build: ## bin/ratchet, without C libraries, the same bytes wherever it is built
	CGO_ENABLED=0 go build -trimpath -o bin/ratchet ./cmd/ratchet

test: python-sdk ## all tests, on one database server (make test PACKAGES=./internal/ledger/... for some of them)
	go run ./internal/pgtest/cmd/testserver -- go test -timeout 60m $(ARGS) $(or $(PACKAGES),./...)

# where goroutines and processes meet
CONCURRENT = ./internal/phase/... ./internal/idempotency/... ./internal/acquirer/... ./internal/apikey/... \
	./internal/postgres/... ./internal/worker/... ./internal/demo/...
# whose tests run whole processes
PROGRAMS = ./cmd/...

others: # the packages that make race leaves out
	@go list ./... | grep -vxF "$$(go list $(CONCURRENT))"

python-sdk: # Stripe's SDK for the system's Python, which a test uses; installed where that needs no question
	@/usr/bin/python3 -c 'import stripe' 2>/dev/null || { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-stripe; } || true

# what depends on the server and takes minutes
SERVER_TESTS = ./internal/postgres/... ./internal/phase/... ./internal/idempotency/... ./internal/dashboard/developers \
	./internal/webhook ./internal/ledger/... ./internal/verify ./test/schema ./test/model

test-on: ## the tests that depend on the server, on another one: make test-on PGBIN=/usr/lib/postgresql/18/bin (ARGS=./... for all)
	@test -x "$(PGBIN)/postgres" || { echo "PGBIN names the folder that contains postgres and initdb"; exit 2; }
	@server=$$("$(PGBIN)/postgres" --version); \
	if PGBIN="$(PGBIN)" go run ./internal/pgtest/cmd/testserver -- \
		go test -count=1 -p 1 -timeout 30m $(or $(ARGS),$(SERVER_TESTS)); \
	then echo "passed on $$server"; else echo "failed on $$server"; exit 1; fi

sdks: build ## Stripe's SDKs, many versions of them, against a demo (10 minutes; DIR=folder adds checkouts of Python, Ruby, PHP)
	go run ./internal/pgtest/cmd/testserver -- sh -c 'DATABASE_URL="$$TEST_DATABASE_URL" \
		go run ./test/sdk/matrix -binary bin/ratchet -table docs/compatibility.md $(if $(DIR),-dir "$(DIR)") $(ARGS)'

samples: browser ## Stripe's samples in a real Chromium, from checkouts of stripe-samples in DIR=folder (5 minutes; needs npm)
	cd test/browser && RATCHET_PROGRAM=./ratchet node samples.mjs "$(abspath $(DIR))" ../../docs/compatibility.md

cli: ## the published Stripe CLI: listen, logs tail, every trigger and resource command whose product exists here (5 minutes)
	@mkdir -p bin
	@RATCHET_STRIPE_CLI=all go run ./internal/pgtest/cmd/testserver -- go test -count=1 -v -timeout 20m -run 'TestStripeCLI' \
		./test/sdk > bin/cli.log 2>&1; passed=$$?; grep '^Stripe CLI' bin/cli.log; \
		go run ./test/sdk/matrix -cli bin/cli.log -table docs/compatibility.md; \
		[ $$passed = 0 ] || { grep -v '^ *{"time' bin/cli.log; exit 1; }

test-browser: browser ## the pages in a real Chromium: looks, links, keyboard, accessibility; screenshots in test/browser/screenshots
	cd test/browser && RATCHET_PROGRAM=./ratchet ./run.sh

screenshots: browser ## the README's pictures, from a fresh demo
	cd test/browser && RATCHET_PROGRAM=./ratchet node screenshots.mjs

paint: browser ## how soon every page is painted, on an idle machine (a minute)
	cd test/browser && RATCHET_PROGRAM=./ratchet node paint.mjs

first-run: browser ## the time from a clone to a paid order, with nothing compiled yet (a minute or two)
	cd test/browser && node first-run.mjs

browser: # what all of them need
	@command -v $${CHROMIUM:-chromium} >/dev/null || \
		{ apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } || \
		{ echo "needs Chromium: install it, or name one with CHROMIUM=/path"; exit 1; }
	cd test/browser && npm ci --no-audit --no-fund
	rm -rf test/browser/screenshots
	go build -o test/browser/ ./cmd/ratchet ./cmd/ratchet-lab

race: ## the concurrent packages, under the race detector
	go run ./internal/pgtest/cmd/testserver -- go test -race -timeout 60m $(ARGS) $(CONCURRENT) $(PROGRAMS)

crash: ## SIGKILL at every I/O boundary of every operation, not a sample of them (an hour and a half of one processor)
	RATCHET_CRASH_FULL=1 go run ./internal/pgtest/cmd/testserver -- go test -count=1 -timeout 3h -v -run 'TestEveryBoundary' ./test/crash

soak: ## processes killed and restarted under load (ten minutes; make soak FOR=1m for less)
	RATCHET_SOAK=$(or $(FOR),10m) go run ./internal/pgtest/cmd/testserver -- go test -count=1 -timeout 3h -v -run 'TestSoak' ./test/crash

failover: ## leaders killed, stalled and isolated under load, with Patroni (four minutes; make failover ROUNDS=20 for more)
	RATCHET_FAILOVER_ROUNDS=$(or $(ROUNDS),4) go run ./internal/pgtest/cmd/testserver -- go test -count=1 -timeout 3h -v \
		-run 'TestFailOver|TestPatroni' ./test/crash

# A long run of one test: its lines go to a file, and its summary to the terminal.
define long
	@mkdir -p bin
	@go run ./internal/pgtest/cmd/testserver -- env $(2) go test -count=1 -timeout 3h -v -run '^$(1)$$' ./test/crash \
		> bin/$(1).log 2>&1; passed=$$?; grep -o 'SUMMARY.*' bin/$(1).log; \
		[ $$passed = 0 ] || { grep -v '"time"' bin/$(1).log; exit 1; }
endef

volume: ## 10,000 requests during 30 minutes, with 200 kills and restarts; ends after 45 (FOR, MOST, REQUESTS, FAULTS)
	$(call long,TestSoak,RATCHET_SOAK=$(or $(FOR),30m) RATCHET_SOAK_MOST=$(or $(MOST),45m) RATCHET_SOAK_REQUESTS=$(or $(REQUESTS),10000) RATCHET_SOAK_FAULTS=$(or $(FAULTS),200))

replays: ## 10,000 keys: each answer has the same bytes after crashes and a restart (make replays N=1000 for fewer)
	$(call long,TestReplays,RATCHET_REPLAYS=$(or $(N),10000))

events: ## 20,000 events while workers are killed: none is missed (make events N=1000 for fewer)
	$(call long,TestEveryEventArrives,RATCHET_EVENTS=$(or $(N),20000))

database-crashes: ## the database killed 20 times under load (make database-crashes N=5 for fewer)
	$(call long,TestPostgresCrash,RATCHET_DATABASE_CRASHES=$(or $(N),20))

mixed: ## two versions of the program on one database, with kills; OLDER=commit with the same migrations (ten minutes)
	@mkdir -p bin && rm -rf bin/older && git worktree prune && git worktree add -q --detach bin/older $(or $(OLDER),HEAD~20)
	@cd bin/older && go build -trimpath -o ../ratchet-older ./cmd/ratchet; built=$$?; \
		cd ../.. && git worktree remove --force bin/older && exit $$built
	$(call long,TestSoak,RATCHET_OLDER_BINARY=$(abspath bin/ratchet-older) RATCHET_SOAK=$(or $(FOR),10m))

walk: ## ten thousand random histories of one key (an hour; make walk CHECKS=1500 for a minute and a half)
	go run ./internal/pgtest/cmd/testserver -- go test -count=1 -timeout 3h -run TestWalk ./test/model -rapid.checks $(or $(CHECKS),10000)

bench: ## what a charge costs, next to the least SQL that does it (25 minutes; make bench ARGS='-each 2s -rounds 1' for less)
	go run ./test/bench $(ARGS)

scale: ## an installation of 100,000 charges, and every statement planned on it (make scale ARGS='-n 1000000' for more)
	go run ./test/scale $(ARGS)

neighbors: ## what one merchant's load costs another: p99 beside the worst that limits allow (3 minutes)
	go run ./test/neighbors $(ARGS)

mutants: ## break the code on purpose and see whether a test notices
	go run ./test/mutants $(ARGS)

lab-record: ## the lab's matrix: run every design under every fault, and keep the runs
	go build -o bin/ ./cmd/ratchet ./cmd/ratchet-lab
	go run ./internal/pgtest/cmd/testserver -- sh -c 'DATABASE_URL="$$TEST_DATABASE_URL" bin/ratchet-lab matrix --at-once 3 --record internal/lab/recorded'

lab-site: ## the lab as static files, for any web server: bin/lab-site; URL=https://... for a picture beside links to it
	go run ./cmd/ratchet-lab site --out bin/lab-site --url "$(URL)"

lab-bars: browser ## the lab's times on an idle machine, a line per bar (2 minutes; make lab-bars ARGS=--all runs each cell alone, 6 minutes)
	cd test/browser && RATCHET_PROGRAM=./ratchet node lab-bars.mjs $(ARGS)

release: ## bin/release: a program for each platform, checksums, and a bill of materials (SBOM, CycloneDX)
	rm -rf bin/release && mkdir -p bin/release
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		echo "building for $$platform"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags=-s -o bin/release/ratchet-$$os-$$arch ./cmd/ratchet || exit 1; \
	done
	CGO_ENABLED=0 go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 app -json -licenses \
		-main cmd/ratchet -output bin/release/ratchet.cdx.json .
	cd bin/release && sha256sum ratchet* > SHA256SUMS

compose: ## docker-compose.yml: start, charge, kill a server, verify; reports a missing Docker engine
	@bash test/compose/smoke.sh

lint: ## format, of the templates too, and the linters of .golangci.yml (compiling them takes two minutes the first time)
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not gofmt'd:"; echo "$$unformatted"; exit 1; }
	go run ./test/templates
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run ./...
