//! Keeps and finds stored responses; never judges freshness.
