# Real control-plane programs from pinned module sources into bin/. Included by the top Makefile.
# Every output is explicit: `go build -o dir/` would name etcd "server" and CAPI's manager "core".
# Versions are stamped, because clusterctl and kubectl check them. A binary is rebuilt only when the pins change.

KUBE_VERSION := v1.36.4
CAPI_VERSION := v1.14.2
CONTROLPLANE := test/controlplane
CONTROLPLANE_PINS := $(CONTROLPLANE)/go.mod $(CONTROLPLANE)/go.sum $(CONTROLPLANE)/build.mk

KUBE_STAMP := $(foreach p,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
  -X $(p).gitVersion=$(KUBE_VERSION) -X $(p).gitMajor=1 -X $(p).gitMinor=36 -X $(p).gitTreeState=clean \
  -X $(p).gitCommit=0000000000000000000000000000000000000000 -X $(p).buildDate=2026-01-01T00:00:00Z)
CAPI_STAMP := $(foreach p,sigs.k8s.io/cluster-api/version,\
  -X $(p).gitVersion=$(CAPI_VERSION) -X $(p).gitMajor=1 -X $(p).gitMinor=14 -X $(p).gitTreeState=clean)

CONTROLPLANE_BINARIES := $(addprefix $(BIN)/,kube-apiserver kube-controller-manager kubectl etcd capi-core-manager clusterctl kustomize)

# $(call controlplane-binary,name,package,stamps)
define controlplane-binary
$(BIN)/$(1): $(CONTROLPLANE_PINS) | $(BIN)
	@echo "building $(1) from $(2) ..."
	@cd $(CONTROLPLANE) && CGO_ENABLED=0 GOFLAGS="$(GOFLAGS)" GOWORK=off go build -trimpath -ldflags "-s -w $(strip $(3))" -o $(abspath $(BIN))/$(1) $(2)
	@touch $$@
endef

$(eval $(call controlplane-binary,kube-apiserver,k8s.io/kubernetes/cmd/kube-apiserver,$(KUBE_STAMP)))
$(eval $(call controlplane-binary,kube-controller-manager,k8s.io/kubernetes/cmd/kube-controller-manager,$(KUBE_STAMP)))
$(eval $(call controlplane-binary,kubectl,k8s.io/kubernetes/cmd/kubectl,$(KUBE_STAMP)))
$(eval $(call controlplane-binary,etcd,go.etcd.io/etcd/server/v3,))
$(eval $(call controlplane-binary,capi-core-manager,sigs.k8s.io/cluster-api/core,$(CAPI_STAMP)))
$(eval $(call controlplane-binary,clusterctl,sigs.k8s.io/cluster-api/cmd/clusterctl,$(CAPI_STAMP)))
$(eval $(call controlplane-binary,kustomize,sigs.k8s.io/kustomize/kustomize/v5,))

.PHONY: controlplane
controlplane: $(CONTROLPLANE_BINARIES) ## Build etcd, Kubernetes, Cluster API core and clusterctl into bin/ (about 6 minutes from cold)
