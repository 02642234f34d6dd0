BIN := bin
export GOFLAGS := -trimpath -buildvcs=false
export CGO_ENABLED := 0

.DEFAULT_GOAL := help

$(BIN):
	@mkdir -p $(BIN)

include test/controlplane/build.mk
