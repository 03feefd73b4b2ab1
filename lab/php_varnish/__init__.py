"""Varnish against FastCGI cache."""
