"""What writes the pages and pictures that come out of the code. Run by `make pages` and `make pictures`; tests/docs asks for drift."""
