"""Redis against nginx."""
