"""The fixtures of runner.testing, for the tests beside this file. Called by pytest."""

pytest_plugins = ["runner.testing"]
