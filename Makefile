# Fenceline. `make run` and `make test` need Go, git and make, nothing else.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOLANGCI = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
CYCLONEDX = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
# Messages may begin with the name of the field that is wrong, which ST1005 forbids.
CHECKS = inherit,-ST1005

# Packages tested at a time (each has a database server of its own), and what
# else to tell `go test`, as in: make test TESTFLAGS='-run Stale' PACKAGES=./store
JOBS ?= 2
PACKAGES ?= ./...
TESTFLAGS ?=
# How long `make soak` breaks things.
MINUTES ?= 10

# The version is passed in; asking git again fails in a checkout of another user.
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.DEFAULT_GOAL := help
.PHONY: help build run test test-migrations scale test-pg reproducible soak check lint sbom bench bench-short bench-late bench-deps generate deps deps-run deps-axe deps-soak clean FORCE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: bin/fenceline ## build bin/fenceline

bin/fenceline: FORCE
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/fenceline

run: build deps-run ## start the console and a worker pool on http://127.0.0.1:8080 (ARGS='--listen …')
	@exec bin/fenceline serve $(ARGS)

test: deps deps-axe ## run every test, with the race detector
	CGO_ENABLED=1 go test -race -shuffle=on -timeout 20m -p $(JOBS) $(TESTFLAGS) $(PACKAGES)

soak: deps deps-soak ## break things around real processes for MINUTES=10 and print the figures (SEED=… ARGS='--scene …')
	@go build -o bin/soak ./cmd/internal/faults/soak
	@exec bin/soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(ARGS)

# Which major versions `make test-pg` tests on.
PG_VERSIONS ?= 14 15 16 17 18

test-pg: ## run the database's tests on PostgreSQL 14 to 18 (PG_VERSIONS='14 18')
	@TESTFLAGS='$(TESTFLAGS)' .ci/test-pg $(PG_VERSIONS)

reproducible: ## build twice, in two directories, and compare the bytes
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && git archive HEAD | tar -x -C "$$dir" && \
	build() { CGO_ENABLED=0 go build -C "$$1" -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o "$$2" ./cmd/fenceline; } && \
	git archive --prefix=elsewhere/ HEAD | tar -x -C "$$dir" && \
	build "$$dir" "$$dir/one" && build "$$dir/elsewhere" "$$dir/two" && cmp "$$dir/one" "$$dir/two" && \
	echo "equal: $$(sha256sum <"$$dir/one")"

test-migrations: ## migrate two million jobs under a full load of renewals (MIGRATE_JOBS=…)
	MIGRATE_JOBS=$${MIGRATE_JOBS:-2000000} go test -count 1 -timeout 60m -v -run NoRenewalIsMissed ./store

scale: ## measure processes, a standby, a failover; pages among millions (ARGS='--only …')
	@go run ./cmd/internal/scale $(ARGS)

check: ## formatting, vet, generated views, staticcheck, builds for other systems
	@echo gofmt; unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted" >&2; exit 1; fi
	go vet ./...
	@echo templ; sums() { git ls-files -co --exclude-standard '*_templ.go' | sort | xargs cat /dev/null | cksum; }; \
	  before=$$(sums); go tool templ generate -log-level error -path views; \
	  if [ "$$before" != "$$(sums)" ]; then echo "generated views differ from their templates: commit what 'make generate' made" >&2; exit 1; fi
	@echo staticcheck; if go mod download $(subst /cmd/staticcheck,,$(STATICCHECK)) 2>/dev/null; \
	  then go run $(STATICCHECK) -checks $(CHECKS) ./...; else echo "staticcheck could not be fetched: skipped" >&2; fi
	@echo govulncheck; said=$$(go run $(GOVULNCHECK) ./... 2>&1) || case "$$said" in \
	  *"fetching vulnerabilities"*|*"go: $(firstword $(subst /cmd/, ,$(GOVULNCHECK)))"*) echo "govulncheck or its database cannot be reached: skipped" >&2;; \
	  *) echo "$$said" >&2; exit 1;; esac
	GOOS=darwin go build ./...
	GOOS=windows go build ./...
	@echo imports; if go list -deps ./cmd/... | grep /storetest; then echo "the binary must not hold the tests' database server" >&2; exit 1; fi
	sh -n .ci/run && sh -n .ci/test-pg
	cd docs/monitoring && go test .
	cd bench && go vet ./...

# Apart from `check`, because building it takes minutes. What it looks for stands
# in .golangci.yml.
lint: ## more linters than check has, with golangci-lint
	go run $(GOLANGCI) run ./...

# Equal sources give equal bytes: it holds no time and no number of its own.
sbom: ## write bin/fenceline.cdx.json: the modules in the program, with versions, hashes and licences
	@mkdir -p bin
	@said=$$(CGO_ENABLED=0 go run -trimpath $(CYCLONEDX) app -json -licenses -noserial -notimestamp -main cmd/fenceline -output bin/fenceline.cdx.json . 2>&1) || \
	  { echo "$$said" >&2; exit 1; }; echo "bin/fenceline.cdx.json: $$(sha256sum <bin/fenceline.cdx.json | cut -d' ' -f1)"

bench: bench-deps ## measure beside other job systems: one table, and bench/bench.json (ARGS='-rows drain …')
	@cd bench && go build -o ../bin/bench . && exec ../bin/bench $(ARGS)

bench-short: bench-deps ## the same in a minute or two, with less of everything
	@cd bench && go build -o ../bin/bench . && exec ../bin/bench -short $(ARGS)

bench-late: bench-deps ## ask each system whether it accepts a late completion
	@cd bench && go build -o ../bin/bench . && exec ../bin/bench late

# Two of the peers live in Node; without npm the others are measured. The server
# is always one of our own.
bench-deps:
	@$(MAKE) --no-print-directory deps-run DATABASE_URL=
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(bench-peers); \
	  else echo "npm is missing: graphile-worker and pg-boss are left out" >&2; fi

bench-peers = bench/node/node_modules/.package-lock.json
$(bench-peers): bench/node/package-lock.json
	cd bench/node && npm ci --no-audit --no-fund --loglevel error
	@touch $@

generate: ## regenerate views/*_templ.go from the templates
	go tool templ generate -path views

clean: ## remove what was built; data directories are left alone
	rm -rf bin

# --- What the machine must have ----------------------------------------------
# Each have-* is a shell condition. What is missing is installed where we may
# (root, with apt-get) and otherwise named, with the command that brings it.

have-postgres = { (p=$$(command -v postgres) && [ -x "$$(dirname "$$(readlink -f "$$p" || echo "$$p")")/initdb" ]) || \
  (for d in "$$PGBIN" /usr/lib/postgresql/*/bin /usr/lib/postgresql*/bin /usr/libexec/postgresql* /usr/pgsql-*/bin \
     /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin; \
   do if [ -x "$$d/postgres" ] && [ -x "$$d/initdb" ]; then exit 0; fi; done; exit 1); }

have-browser = (for b in chromium chromium-browser google-chrome google-chrome-stable chrome headless-shell \
     "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" "/Applications/Chromium.app/Contents/MacOS/Chromium"; \
   do if command -v "$$b" >/dev/null; then exit 0; fi; done; exit 1)

have-compiler = (printf '\#include <stdlib.h>\n' | $$(go env CC) -E -x c - >/dev/null 2>&1)

deps: ## install what tests need where we may: PostgreSQL, Chromium, a C compiler
	@apt=""; brew=""; what=""; \
	if ! $(have-postgres); then apt="$$apt postgresql"; brew="$$brew postgresql"; what="$$what, a PostgreSQL server"; fi; \
	if ! $(have-browser); then apt="$$apt chromium fonts-liberation"; brew="$$brew chromium"; what="$$what, Chromium"; fi; \
	if ! $(have-compiler); then apt="$$apt gcc libc6-dev"; brew="$$brew gcc"; what="$$what, a C compiler"; fi; \
	$(install-missing)

# The pages are looked through for barriers where npm can bring what does it;
# elsewhere those two tests are skipped, and say so.
AXE = axe-core@4.14.1
deps-axe:
	@if ! [ -e node_modules/axe-core/axe.min.js ] && command -v npm >/dev/null; then \
	  npm install --no-save --no-package-lock --no-audit --no-fund --silent $(AXE) || echo "$(AXE) could not be fetched: its tests are skipped" >&2; \
	fi

# A soak runs without these too, and says what it did not play.
deps-soak:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! { command -v pgbouncer && ls /usr/lib/*/faketime; } >/dev/null 2>&1; then \
	  mkdir -p $(dir $(no-cluster)) && echo 'create_main_cluster = false' >$(no-cluster); trap 'rm -f $(no-cluster)' EXIT; \
	  export DEBIAN_FRONTEND=noninteractive; apt-get -q -o Acquire::Retries=3 update && apt-get -q -y install --no-install-recommends pgbouncer libfaketime || true; \
	fi

deps-run:
	@apt=""; brew=""; what=""; \
	if [ -z "$$DATABASE_URL" ] && ! $(have-postgres); then apt=postgresql; brew=postgresql; what=", a PostgreSQL server"; fi; \
	$(install-missing)

# Debian's package would also make a server of its own and start it on port
# 5432; that is not wanted here, so it is told not to while it is installed.
no-cluster = /etc/postgresql-common/createcluster.d/fenceline.conf

define install-missing
what=$${what#, }; \
if [ -z "$$what" ]; then exit 0; fi; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "installing $$what"; \
  export DEBIAN_FRONTEND=noninteractive; \
  mkdir -p $(dir $(no-cluster)) && echo 'create_main_cluster = false' >$(no-cluster); \
  trap 'rm -f $(no-cluster)' EXIT; \
  apt-get -q -o Acquire::Retries=3 update && apt-get -q -y -o Acquire::Retries=3 install --no-install-recommends $$apt; \
elif command -v apt-get >/dev/null; then \
  echo "missing: $$what; install with: sudo apt-get install --no-install-recommends $${apt# }" >&2; exit 1; \
elif command -v brew >/dev/null; then \
  echo "missing: $$what; install with: brew install$$brew" >&2; exit 1; \
else \
  echo "missing: $$what; install with this system's package manager, then run make again" >&2; exit 1; \
fi
endef
