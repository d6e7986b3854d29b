"""Dies at import. Loaded by the children of the tests beside it."""

import os
import signal

print("about to die", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
