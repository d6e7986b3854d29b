"""Speed and cost beside rq, dramatiq and raw redis-py, all in one run. Run by `make bench`; docs/benchmarks.md says how to read it."""
