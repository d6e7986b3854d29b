"""What `make release` does: everything that is published, at one version, in dist/. Also `make version V=0.2.0`."""
