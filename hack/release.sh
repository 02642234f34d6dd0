#!/usr/bin/env bash
# Renders the provider repository that clusterctl reads: release.sh VERSION FOLDER
set -euo pipefail
version=$1 out=$2
cd "$(dirname "$0")/.."
for kind in infrastructure bootstrap; do
	dir=$out/$kind-repave/$version
	mkdir -p "$dir"
	bin/kustomize build --load-restrictor LoadRestrictionsNone "config/default/$kind" |
		sed "s/REPAVE_VERSION/$version/g" >"$dir/$kind-components.yaml"
	cp config/metadata.yaml "$dir/metadata.yaml"
done
echo "rendered $out"
