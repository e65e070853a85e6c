//! Requests as a connection reads them: a header, the API it names, and the body in that API's form.

use std::collections::BTreeMap;

use bytes::Bytes;
use pillion_broker::fuzzing;

use crate::Target;
use crate::messages::Body;
use crate::target::within;

/// Memory for a header: a client id, and what an error says.
const HEADER_BYTES_MAX: usize = 1024;

pub(crate) fn target() -> Target {
    let bodies: BTreeMap<i16, Body> =
        Body::all().into_iter().filter_map(|body| Some((body.request_of?, body))).collect();
    let seeds = bodies.iter().flat_map(|(key, body)| body.samples().map(|(version, body)| frame(*key, version, &body)));
    let seeds = seeds.collect();
    let run = move |bytes: &[u8]| {
        let frame = Bytes::copy_from_slice(bytes);
        let parsed = within(HEADER_BYTES_MAX + frame.len(), "header", || fuzzing::request(&frame));
        let Some((key, version, body)) = parsed else { return };
        let message = bodies.get(&key).unwrap_or_else(|| panic!("API {key} is served and not in the list of messages"));
        (message.check)(&body, version);
    };
    Target { name: "frames".to_owned(), seeds, run: Box::new(run) }
}

/// A frame without its length. The byte before the body is that of no tagged fields, where it is one.
fn frame(key: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let header = [&key.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 7], &[0, 1, b'c']].concat();
    let tags: &[u8] = if version >= 2 { &[0] } else { &[] };
    [&header, tags, body].concat()
}
