//! One target for each message, in every version: a byte that chooses the version, then a body.

use std::fmt::Debug;

use bytes::Bytes;
use pillion_wire::codec::decoded_bytes_max;
use pillion_wire::{Message, Reader, messages};

use crate::Target;
use crate::every_message::{encode, every_message, random};
use crate::target::within;

/// Seeds of each version.
const SAMPLES: u64 = 3;

/// A message type, as far as targets need it.
pub(crate) struct Body {
    pub(crate) name: &'static str,
    /// The API whose request it is.
    pub(crate) request_of: Option<i16>,
    first: i16,
    versions: i16,
    sample: fn(u64, i16) -> Bytes,
    pub(crate) check: fn(&Bytes, i16),
}

impl Body {
    fn of<M: Message + Debug + PartialEq>() -> Self {
        let (first, last) = M::VERSIONS.into_inner();
        Self {
            name: M::NAME,
            request_of: M::API_KEY.filter(|_| M::NAME.ends_with("Request")),
            first,
            versions: last - first + 1,
            sample: |seed, version| encode(&M::sample(&mut random(seed), version), version),
            check: check::<M>,
        }
    }

    /// All messages.
    pub(crate) fn all() -> Vec<Self> {
        macro_rules! bodies {
            ($($shared:ident,)* @ours $($ours:ident,)*) => {
                vec![$(Self::of::<messages::$shared>(),)* $(Self::of::<messages::$ours>(),)*]
            };
        }
        every_message!(bodies)
    }

    /// Some bodies of each version.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (i16, Bytes)> {
        let versions = self.first..self.first + self.versions;
        versions.flat_map(move |version| (0..SAMPLES).map(move |seed| (version, (self.sample)(seed, version))))
    }

    fn target(self) -> Target {
        let seeds =
            self.samples().map(|(version, body)| [&[(version - self.first) as u8], &body[..]].concat()).collect();
        let run = move |bytes: &[u8]| {
            let Some((version, body)) = bytes.split_first() else { return };
            (self.check)(&Bytes::copy_from_slice(body), self.first + i16::from(*version) % self.versions);
        };
        Target { name: self.name.to_owned(), seeds, run: Box::new(run) }
    }
}

/// One target for each.
pub(crate) fn targets() -> impl Iterator<Item = Target> {
    Body::all().into_iter().map(Body::target)
}

fn check<M: Message + Debug + PartialEq>(body: &Bytes, version: i16) {
    let read = || M::read(&mut Reader::for_request(body), version);
    let Ok(message) = within(decoded_bytes_max(body.len()), M::NAME, read) else { return };
    let again = encode(&message, version);
    let read = M::read(&mut Reader::new(&again), version).expect("what was written is read");
    // As text, too, for a number that is none equals nothing.
    let is_same = read == message || format!("{read:?}") == format!("{message:?}");
    assert!(is_same, "{} version {version}: {message:?}, written and read again, is {read:?}", M::NAME);
}
