"""A CDN for an API."""
