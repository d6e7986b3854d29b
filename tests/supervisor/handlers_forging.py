"""Finds the child's own reply pipe at import and writes there. Loaded by the children of the tests beside it."""

import gc
import os

from runner.child import Reply

os.write(next(thing for thing in gc.get_objects() if isinstance(thing, Reply))._fd, b"}{\n")
