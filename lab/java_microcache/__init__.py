"""Microcaching for Java."""
