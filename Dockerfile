# The images: `worker` (redis-py and what a handler may submit with) and `controller` (also the command line and the Kubernetes client).
#   docker build --target worker -t runner-worker .            docker build --target controller -t runner-controller .
# Built by `docker build` with or without BuildKit, for every platform that the base image has. A user's image is FROM worker: examples/.
ARG PYTHON_IMAGE=python:3.13-slim

# Installed into plain folders with everything pinned by hash, and compiled: a read-only root never gets bytecode later, and starting
# without it takes three times as long. By hash and unchecked, because copying into an image may change a file's time.
FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements/worker.lock requirements/controller.lock /requirements/
RUN pip install --quiet --no-compile --require-hashes --only-binary :all: --target /worker -r /requirements/worker.lock \
 && pip install --quiet --no-compile --require-hashes --only-binary :all: --target /controller -r /requirements/controller.lock \
 && rm -rf /worker/bin /controller/bin
COPY runner /worker/runner
RUN cp -r /worker/runner /controller/runner && rm -rf /worker/runner/cli /worker/runner/controller /worker/runner/dev /worker/runner/testing \
 && find /worker /controller -name __pycache__ -type d -prune -exec rm -rf {} + \
 && python -m compileall -q -j 0 --invalidation-mode unchecked-hash /worker /controller

# What both have: the base without its package installer, the standard library compiled (slim images come without), any uid, /tmp alone writable.
FROM ${PYTHON_IMAGE} AS base
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3*/site-packages/* /usr/local/lib/python3*/ensurepip \
      /usr/bin/pip* /usr/lib/python3/dist-packages/pip* /usr/lib/python3/dist-packages/setuptools* /usr/lib/python3/dist-packages/wheel* \
      /usr/lib/python3/dist-packages/pkg_resources /usr/lib/python3/dist-packages/_distutils_hack /usr/lib/python3/dist-packages/distutils-precedence.pth \
      /usr/lib/python3*/ensurepip \
      /usr/share/python-wheels ~/.cache \
 && find / -xdev -perm /6000 -type f -exec chmod a-s {} + \
 && ! python -c "import pip" 2>/dev/null && ! command -v cc \
 && python -m compileall -q -j 0 -x '/(test|tests|idlelib|lib2to3|turtledemo|tkinter|dist-packages|site-packages)/' \
      "$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" >/dev/null
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/app:/opt/runner HOME=/tmp TMPDIR=/tmp
WORKDIR /app
USER 65532:0

FROM base AS controller
COPY --from=build /controller /opt/runner
COPY deploy/image/runner /usr/local/bin/runner
ENTRYPOINT ["python", "-m", "runner.controller"]

# The last one, so that a build that names no target makes it. PID 1 is the worker itself: it gets SIGTERM.
FROM base AS worker
COPY --from=build /worker /opt/runner
ENTRYPOINT ["python", "-m", "runner.worker"]
