#!/bin/sh
# Writes the plain manifests of deploy/keda (or into the folder $1) from the chart, one for each file of deploy/keda/values. Called by
# `make manifests` and by the test that finds drift. Needs helm.
set -eu
cd "$(dirname "$0")/.."
out=${1:-deploy/keda}
for values in deploy/keda/values/*.yaml; do
    name=$(basename "$values")
    {
        echo "# Rendered from the chart by \`make manifests\`; change charts/runner or $values instead."
        echo "# Declare the queue first: runner queue declare emails. Then, since the CRDs are long: kubectl apply --server-side -f $name"
        helm template runner charts/runner --namespace default --values "$values" --show-only templates/scaledjobs.yaml \
            --kube-version 1.34.0 --api-versions keda.sh/v1alpha1/ScaledJob | sed -e '/managed-by: Helm/d' -e '/helm.sh\/chart:/d' -e '/^# Source:/d'
    } >"$out/$name"
done
