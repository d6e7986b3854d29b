# Resolve pyproject.toml into the lock files, for every Python that it allows, with hashes and without a registry's address.
# Called by `make lock` with the path of uv; the other locks take test.lock's versions. The worker's image has no command line.
set -eu
compile() { "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate "$@"; }
uv=$1
compile pyproject.toml --upgrade --extra demo --extra bench --group dev -o requirements/test.lock
compile pyproject.toml --upgrade --extra demo --group build -c requirements/test.lock -o requirements/demo.lock
compile pyproject.toml --upgrade -c requirements/test.lock --no-emit-package typer --no-emit-package rich --no-emit-package click --no-emit-package shellingham \
    --no-emit-package markdown-it-py --no-emit-package mdurl --no-emit-package pygments --no-emit-package annotated-doc --no-emit-package colorama -o requirements/worker.lock
compile pyproject.toml --upgrade --extra kubernetes -c requirements/test.lock -o requirements/controller.lock
compile --upgrade --group docs -c requirements/test.lock -o requirements/docs.lock
compile --upgrade --group release -c requirements/test.lock -o requirements/release.lock
