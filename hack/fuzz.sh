#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz.sh 20s
set -euo pipefail
cd "$(dirname "$0")/.."
ran=0
while IFS=: read -r file target; do
	echo "== $target in $(dirname "$file")"
	go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$1"
	ran=$((ran + 1))
done < <(git ls-files '*_test.go' | xargs grep -HoE '^func Fuzz[A-Za-z0-9_]+' | sed 's/func //')
test "$ran" -gt 0 || { echo "no fuzz target was found"; exit 1; }
echo "$ran fuzz targets ran"
