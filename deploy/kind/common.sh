# What the scripts beside this file share: names, versions, and the tools that must be there. Sourced by each of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

CLUSTER=runner-kind
KEDA_MANIFEST=${KEDA_MANIFEST:-https://github.com/kedacore/keda/releases/download/v2.20.2/keda-2.20.2.yaml}
PYTHON_IMAGE=${PYTHON_IMAGE:-python:3.13-slim}
REDIS_IMAGE=${REDIS_IMAGE:-redis:7.2}
# A file of our own, so that nobody's kubectl is turned to this cluster.
KUBECONFIG=${TMPDIR:-/tmp}/$CLUSTER-$(id -u)/kubeconfig
export KUBECONFIG KEDA_MANIFEST PYTHON_IMAGE REDIS_IMAGE
mkdir -p -m 700 "$(dirname "$KUBECONFIG")"

say() { printf '%4s s  %s\n' "$SECONDS" "$*"; }

for tool in docker kind kubectl helm; do
    command -v "$tool" >/dev/null || { echo "$tool is not on PATH: install docker, kind, kubectl and helm first" >&2; exit 2; }
done
docker info >/dev/null 2>&1 || { echo "docker does not answer: start it first" >&2; exit 2; }

# Images that this machine has are given to the node, which may not be able to pull.
load() {
    for image in "$@"; do
        docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image" >/dev/null
    done
    kind load docker-image --name "$CLUSTER" "$@" >/dev/null 2>&1 || { echo "kind load docker-image $* failed" >&2; exit 1; }
}

build() { # TARGET-OR-EMPTY TAG FOLDER [ARGUMENTS]
    local target=$1 tag=$2 folder=$3
    shift 3
    docker build --quiet ${target:+--target "$target"} --tag "$tag" "$@" "$folder" >/dev/null
}
