#!/bin/sh
# `make demo`: what exists today, shown on the examples. Nothing is started and nothing is faked.
set -eu

step() {
  printf '\n\033[1m%s\033[0m\n$ %s\n' "$1" "$2"
}
[ -t 1 ] || step() { printf '\n%s\n$ %s\n' "$1" "$2"; }

step "Every example is accepted; where something is read differently, a warning says what." "grove validate examples"
grove validate examples

step "A mistake is refused before any cluster sees it, with its line and what to do." "grove validate tools/demo-mistakes.yaml"
if grove validate tools/demo-mistakes.yaml; then
  echo "error: the mistakes were accepted" >&2
  exit 1
fi

step "What becomes of a manifest: gangs, cliques and pods by name." "grove explain -f examples/multi-node-disaggregated.yaml"
grove explain -f examples/multi-node-disaggregated.yaml

step "What a field means, also inside pod specs." "grove explain pcs.spec.template.podCliqueScalingGroups"
grove explain pcs.spec.template.podCliqueScalingGroups

step "The kinds, as a cluster learns them (grove crds | kubectl apply -f -)." "grove crds -o table"
grove crds -o table

printf '\nNot there yet: the laptop cluster (see README.md).\nOn a cluster: docs/guides/operator.md, docs/guides/scheduler.md.\n'
