# Resolve pyproject.toml into the two lock files, for every Python that it allows, with hashes and without a registry's address.
# Called by `make lock` with the path of uv; demo.lock takes test.lock's versions.
set -eu
compile() { "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate pyproject.toml "$@"; }
uv=$1
compile --upgrade --extra demo --extra bench --group dev -o requirements/test.lock
compile --upgrade --extra demo --group build -c requirements/test.lock -o requirements/demo.lock
