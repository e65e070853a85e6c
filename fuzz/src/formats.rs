//! One target for each format of files and records that only the broker reads.

use pillion_broker::fuzzing::{Format, formats};

use crate::Target;
use crate::target::within;

/// Memory that reading and writing may take: lists grow by doubling, and a line of text is a string of its own.
fn bytes_max(length: usize) -> usize {
    16 * 1024 + 128 * length
}

/// One target for each.
pub(crate) fn targets() -> impl Iterator<Item = Target> {
    formats().into_iter().map(|Format { name, example, again }| {
        let run = move |bytes: &[u8]| {
            let Some(written) = within(bytes_max(bytes.len()), name, || again(bytes)) else { return };
            assert_eq!(again(&written), Some(written.clone()), "{name}, written and read again");
        };
        Target { name: name.to_owned(), seeds: vec![example], run: Box::new(run) }
    })
}
