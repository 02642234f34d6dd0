#!/usr/bin/env bash
# Renders the provider repository that clusterctl reads: release.sh VERSION FOLDER
# VERSION is of a series that config/metadata.yaml lists: clusterctl refuses any other.
set -euo pipefail
version=$1 out=$(realpath -m "$2")
cd "$(dirname "$0")/.."

if ! [[ $version =~ ^v([0-9]+)\.([0-9]+)\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	echo "version $version is not like v0.1.0 or v0.1.0-rc.1" >&2
	exit 1
fi
if ! grep -A1 "^- major: ${BASH_REMATCH[1]}\$" config/metadata.yaml | grep -q "^  minor: ${BASH_REMATCH[2]}\$"; then
	echo "config/metadata.yaml lists no release series ${BASH_REMATCH[1]}.${BASH_REMATCH[2]}" >&2
	exit 1
fi

for kind in infrastructure bootstrap; do
	dir=$out/$kind-repave/$version
	rm -rf "$dir" # nothing of an earlier rendering stays
	mkdir -p "$dir"
	bin/kustomize build --load-restrictor LoadRestrictionsNone "config/default/$kind" |
		sed "s/REPAVE_VERSION/$version/g" >"$dir/$kind-components.yaml"
	cp config/metadata.yaml "$dir/metadata.yaml"
done
cp templates/*.yaml "$out/infrastructure-repave/$version/" # clusterctl generate cluster takes cluster-template*.yaml from here
echo "rendered $out"
