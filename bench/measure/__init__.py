"""The benchmark's parts. `cli` puts them together; `experiments` says what is measured."""
