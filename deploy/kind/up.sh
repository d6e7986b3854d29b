#!/usr/bin/env bash
# A fresh kind cluster with KEDA and the images of this tree in it; with MORE=1 one of two nodes. Called by `make kind-up`, test.sh, demo.sh.
. "$(dirname "$0")/common.sh"
version=$(sed -n 's/^appVersion: "\(.*\)"/\1/p' charts/runner/Chart.yaml)

kind delete cluster --name "$CLUSTER" >/dev/null 2>&1 || true
say "cluster $CLUSTER"
config=kind-config.yaml
[[ ${MORE:-} ]] && config=deploy/kind/two-nodes.yaml
kind create cluster --name "$CLUSTER" --config "$config" ${KIND_NODE_IMAGE:+--image "$KIND_NODE_IMAGE"} --wait 180s --quiet

# The suite looks at what helm says as long as there is no KEDA.
! helm install runner charts/runner --dry-run=server 2>"$(dirname "$KUBECONFIG")/without-keda.txt" >/dev/null || { echo "the chart installs without KEDA" >&2; exit 1; }

say "KEDA"
kubectl apply --server-side -f "$KEDA_MANIFEST" >/dev/null

if [[ ${MORE:-} ]]; then
    # The node that is to be lost holds nothing but workers.
    kubectl taint nodes "$CLUSTER-control-plane" node-role.kubernetes.io/control-plane- >/dev/null
    stays='{"spec": {"template": {"spec": {"nodeSelector": {"node-role.kubernetes.io/control-plane": ""}}}}}'
    kubectl --namespace keda patch deployment keda-operator --patch "$stays" >/dev/null
fi

say "images"
build worker "runner-worker:$version" . --build-arg PYTHON_IMAGE="$PYTHON_IMAGE"
build controller "runner-controller:$version" . --build-arg PYTHON_IMAGE="$PYTHON_IMAGE"
for handlers in 1 2; do
    build "" "runner-kind:$handlers" tests/kind/image --build-arg WORKER_IMAGE="runner-worker:$version" --build-arg HANDLERS_VERSION="$handlers"
done
say "images into the node"
load "runner-worker:$version" "runner-controller:$version" runner-kind:1 runner-kind:2 "$REDIS_IMAGE"

say "waiting for KEDA"
kubectl wait --for=condition=Available --timeout=300s --namespace keda deployment/keda-operator >/dev/null
say "ready: export KUBECONFIG=$KUBECONFIG"
