"""Static files against memcached."""
