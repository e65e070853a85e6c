//! Tests of the fetch handler.
