//! Lines of each format, and what is read of them.
