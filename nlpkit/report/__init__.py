"""Self-contained HTML pages: no script, no external resource, light and dark."""
