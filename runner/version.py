"""The release's version, as in pyproject.toml and the chart. Called by everything that tells it."""

__version__ = "0.1.0"
