//! A connection's bytes cut into frames, however they arrive; and requests as a connection reads them: a header, the API it names, and the body in that API's form.

use std::collections::BTreeMap;

use bytes::Bytes;
use pillion_broker::fuzzing;

use crate::Target;
use crate::messages::Body;
use crate::target::within;

/// Memory for a header: a client id, and what an error says.
const HEADER_BYTES_MAX: usize = 1024;
/// The largest frame of a connection here.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Memory for bytes that are arriving: a buffer for small frames, what a large one reserves ahead, and a list that grows by
/// doubling, of frames that may be empty.
const ARRIVING_BYTES_MAX: usize = 16 * 1024 + 256 * 1024 + 64 * 1024;

/// Both targets.
pub(crate) fn targets() -> [Target; 2] {
    [cuts(), requests()]
}

/// A byte that says how many arrive at a time, then the connection's bytes.
fn cuts() -> Target {
    let seed =
        [&[3, 0, 0, 0, 2, 1, 2, 0, 0, 0x13, 0x88][..], &[7; 5_000], &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]].concat();
    let run = |bytes: &[u8]| {
        let Some((arriving, bytes)) = bytes.split_first() else { return };
        let bytes_max = ARRIVING_BYTES_MAX + 4 * bytes.len();
        let arriving = 1 + usize::from(*arriving) * 29;
        let cut = within(bytes_max, "cut", || fuzzing::cut(bytes, arriving, FRAME_BYTES_MAX));
        assert_eq!(cut, expected(bytes), "{arriving} bytes at a time");
    };
    Target { name: "cuts".to_owned(), seeds: vec![seed], run: Box::new(run) }
}

/// What [`fuzzing::cut`] has to answer.
fn expected(mut bytes: &[u8]) -> (Vec<Bytes>, bool) {
    let mut frames = Vec::new();
    while let Some((length, behind)) = bytes.split_first_chunk::<4>() {
        let length = i32::from_be_bytes(*length);
        let Some(size) = usize::try_from(length).ok().filter(|size| *size <= FRAME_BYTES_MAX) else {
            return (frames, true);
        };
        let Some((frame, behind)) = behind.split_at_checked(size) else { break };
        frames.push(Bytes::copy_from_slice(frame));
        bytes = behind;
    }
    (frames, false)
}

fn requests() -> Target {
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
    Target { name: "requests".to_owned(), seeds, run: Box::new(run) }
}

/// A frame without its length. The byte before the body is that of no tagged fields, where it is one.
fn frame(key: i16, version: i16, body: &[u8]) -> Vec<u8> {
    let header = [&key.to_be_bytes()[..], &version.to_be_bytes(), &[0, 0, 0, 7], &[0, 1, b'c']].concat();
    let tags: &[u8] = if version >= 2 { &[0] } else { &[] };
    [&header, tags, body].concat()
}
