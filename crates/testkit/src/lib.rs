//! For tests only: scripted origin, raw-byte client, barriers.
