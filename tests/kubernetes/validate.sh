#!/usr/bin/env bash
# Holds deploy/kubernetes against Kubernetes' own schema, strictly: a misspelt field is an error. Needs python3 with venv
# and a package index; no cluster.
set -euo pipefail
cd "$(dirname "$0")/../.."

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 -m venv "$directory"
# It carries the schemas of each release of Kubernetes.
"$directory/bin/pip" --quiet install kubernetes-validate==1.37.0
# The oldest release with native sidecars on by default, and the newest one that version knows.
for version in 1.29 1.37; do
  "$directory/bin/kubernetes-validate" --strict --kubernetes-version "$version" deploy/kubernetes/*.yaml
done
