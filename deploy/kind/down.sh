#!/usr/bin/env bash
# Deletes the cluster of `make kind-up`. Called by `make kind-down` and test.sh.
. "$(dirname "$0")/common.sh"
kind delete cluster --name "$CLUSTER"
rm -f "$KUBECONFIG"
