"""Exits at import. Loaded by the children of the tests beside it."""

import sys

sys.exit(0)
