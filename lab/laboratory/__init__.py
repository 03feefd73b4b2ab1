"""What the experiments have in common: installing, starting, loading, and what is made of the figures."""
