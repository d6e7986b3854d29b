"""`python -m runner.cli`, the same as `runner`. Called where the entry point is not on PATH."""

from runner.cli import main

main()
