# Repave. `make help` lists the targets; CI calls nothing but make.

BIN := bin
OUT := out
VERSION ?= v0.1.0
MODULE := github.com/repave-io/cluster-api-provider-repave

# One set of build flags everywhere: they are part of Go's cache key, and the control plane shares the cache.
export GOFLAGS := -trimpath -buildvcs=false
export CGO_ENABLED := 0
export KUBEBUILDER_ASSETS := $(abspath $(BIN))

STAMP := -s -w -X $(MODULE)/version.version=$(VERSION)

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*?##/ {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN) $(OUT):
	@mkdir -p $@

##@ Build

.PHONY: build
build: | $(BIN) ## Build the manager, the agent, the virtual BMC and the kubectl plugin into bin/
	go build -ldflags "$(STAMP)" -o $(BIN)/repave .
	go build -ldflags "$(STAMP)" -o $(BIN)/repave-agent ./cmd/repave-agent
	go build -ldflags "$(STAMP)" -o $(BIN)/virtual-bmc ./cmd/virtual-bmc
	go build -ldflags "$(STAMP)" -o $(BIN)/kubectl-repave ./cmd/kubectl-repave

include test/controlplane/build.mk

# $(call tool,name,package): a pinned generator or analyser from hack/tools.
define tool
$(BIN)/$(1): hack/tools/go.mod hack/tools/go.sum | $(BIN)
	@echo "building $(1) ..."
	@cd hack/tools && go build -o $(abspath $(BIN))/$(1) $(2)
	@touch $$@
endef
$(eval $(call tool,controller-gen,sigs.k8s.io/controller-tools/cmd/controller-gen))
$(eval $(call tool,crd-ref-docs,github.com/elastic/crd-ref-docs))
$(eval $(call tool,staticcheck,honnef.co/go/tools/cmd/staticcheck))
$(eval $(call tool,errcheck,github.com/kisielk/errcheck))
$(eval $(call tool,benchstat,golang.org/x/perf/cmd/benchstat))

##@ Generate

.PHONY: generate
generate: $(BIN)/controller-gen $(BIN)/crd-ref-docs ## Regenerate deepcopy code and the tables and references in docs/
	$(BIN)/controller-gen object paths=./api/...
	$(BIN)/crd-ref-docs --source-path=./api --config=docs/reference/api-config.yaml --renderer=markdown --output-path=docs/reference/api.md --log-level=ERROR
	go run ./hack/docs

.PHONY: manifests
manifests: $(BIN)/controller-gen ## Regenerate CRDs and RBAC in config/
	$(BIN)/controller-gen crd paths=./api/... output:crd:dir=config/crd
	$(BIN)/controller-gen rbac:roleName=repave-infrastructure paths=./controllers/... output:rbac:dir=config/rbac/infrastructure
	$(BIN)/controller-gen rbac:roleName=repave-netboot paths=./metal/netboot/... output:rbac:dir=config/rbac/netboot
	$(BIN)/controller-gen rbac:roleName=repave-bootstrap paths=./bootstrap/... output:rbac:dir=config/rbac/bootstrap

.PHONY: release
release: $(BIN)/kustomize | $(OUT) ## Render the provider repository for clusterctl into out/repository
	@hack/release.sh $(VERSION) $(OUT)/repository

.PHONY: image
image: build | $(OUT) ## Pack bin/repave into out/repave-image.tar, a container image, without a container engine
	go run ./hack/image -binary $(BIN)/repave -version $(VERSION) $(if $(wildcard /etc/ssl/certs/ca-certificates.crt),-certificates /etc/ssl/certs/ca-certificates.crt) -out $(OUT)/repave-image.tar

##@ Check

.PHONY: fmt
fmt: ## Format the code
	gofmt -w $(shell git ls-files '*.go')

.PHONY: lint
lint: $(BIN)/staticcheck $(BIN)/errcheck ## Run gofmt, go vet, staticcheck and errcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run make fmt"; exit 1; }
	go vet ./...
	$(BIN)/staticcheck ./...
	$(BIN)/errcheck -ignoretests -exclude hack/errcheck.txt ./...

.PHONY: verify
verify: generate manifests lint ## Regenerate everything and fail when something differs; lint
	@git diff --exit-code -- api config docs || { echo "generated files were out of date: commit them"; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard -- api config docs)" || { git ls-files --others --exclude-standard -- api config docs; echo "generated files are not committed"; exit 1; }

.PHONY: test
test: controlplane ## Run all tests: unit, property, on a real API server with real Cluster API, house rules
	go test -count=1 -timeout 20m ./...

.PHONY: test-race
test-race: controlplane ## Run all tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m ./...

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME each (default 20s)
	@hack/fuzz.sh $${FUZZTIME:-20s}

.PHONY: bench
bench: controlplane build ## Run the benchmarks (see test/bench/README.md); BENCH=regexp picks some
	go test -run '^$$' -bench "$${BENCH:-.}" -benchmem -timeout 60m ./controllers/... ./metal/... ./test/bench/...

##@ Try it

.PHONY: demo
demo: controlplane build ## Run the README's story on a real control plane and a virtual fleet; KEEP=1 leaves it running
	@go build -o $(BIN)/demo ./test/demo
	@KEEP=$(KEEP) $(BIN)/demo

.PHONY: demo-down
demo-down: ## Stop a demo that was left running
	@go build -o $(BIN)/demo ./test/demo
	@$(BIN)/demo down

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) $(OUT) .demo
