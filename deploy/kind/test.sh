#!/usr/bin/env bash
# From nothing to verdict: a cluster, the suite of tests/kind, everything's logs if it fails, and the cluster is gone (KEEP=1 keeps it).
# Called by `make kind-test`; with MORE=1 by `make kind-test-more`, on two nodes with tests/kind/more. AGAIN=1 takes the cluster that is
# there. Arguments go to pytest.
. "$(dirname "$0")/common.sh"
here=$PWD/deploy/kind

ended() {
    local code=$?
    trap - EXIT
    ((code == 0)) || bash "$here/logs.sh" kind-logs || true
    [[ ${KEEP:-} ]] && say "kept: export KUBECONFIG=$KUBECONFIG; make kind-down deletes it" || bash "$here/down.sh"
    say "$( ((code == 0)) && echo passed || echo "failed, see kind-logs/")"
    exit "$code"
}
trap ended EXIT
trap 'exit 130' INT TERM

[[ ${AGAIN:-} ]] || bash "$here/up.sh"
suite=tests/kind${MORE:+/more}
say "$suite"
RUNNER_KIND=$([[ ${MORE:-} ]] && echo more || echo 1) .venv/bin/python -m pytest "$suite" -s -v --tb=short "$@"
