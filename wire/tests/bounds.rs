//! Bytes from outside: whatever they are, decoding them answers, never panics, and takes memory in proportion to
//! the bytes there are, not to the lengths they claim.

mod every_message;

use std::fmt::Debug;
use std::ops::RangeInclusive;

use bytes::{BufMut, Bytes, BytesMut};
use every_message::{encode, every_message, random};
use pillion_wire::codec::decoded_bytes_max;
use pillion_wire::messages::{CreateTopicsRequest, MetadataRequest, ProduceRequest};
use pillion_wire::{DecodeError, Message, Reader, messages};

/// Damaged frames tried for each message.
const MUTATIONS: usize = 4_000;
/// Samples of each version that are cut and have lengths written into them.
const SAMPLES: u64 = 2;

/// Memory that decoding a frame may take at once.
fn memory_allowed(frame: &Bytes) -> u64 {
    decoded_bytes_max(frame.len()) as u64
}

/// A message type, as far as these tests need it.
struct Subject {
    name: &'static str,
    versions: RangeInclusive<i16>,
    flexible_from: i16,
    sample: fn(u64, i16) -> Bytes,
    decode: fn(&Bytes, i16) -> Result<(), DecodeError>,
}

impl Subject {
    fn of<M: Message + Debug + PartialEq>() -> Self {
        Self {
            name: M::NAME,
            versions: M::VERSIONS,
            flexible_from: M::FLEXIBLE_FROM,
            sample: |seed, version| encode(&M::sample(&mut random(seed), version), version),
            decode: |frame, version| {
                let mut reader = Reader::new(frame);
                let mut read = Ok(M::default());
                let memory = allocation_counter::measure(|| read = M::read(&mut reader, version));
                assert!(
                    memory.bytes_max <= memory_allowed(frame),
                    "{} version {version}: {} bytes taken for {}: {frame:?}",
                    M::NAME,
                    memory.bytes_max,
                    frame.len()
                );
                // What decodes is a value of the version, which therefore encodes and comes back: as bytes, for a
                // fraction that is not a number equals nothing.
                let again = encode(&read?, version);
                let back = M::read(&mut Reader::new(&again), version).map(|message| encode(&message, version));
                assert_eq!(back.as_ref(), Ok(&again), "{version} {frame:?}");
                Ok(())
            },
        }
    }

    fn all() -> Vec<Self> {
        macro_rules! subjects {
            ($($shared:ident,)* @ours $($ours:ident,)*) => {
                vec![$(Self::of::<messages::$shared>(),)* $(Self::of::<messages::$ours>(),)*]
            };
        }
        every_message!(subjects)
    }

    /// Some encoded values of each version.
    fn samples(&self) -> impl Iterator<Item = (i16, Bytes)> {
        self.versions
            .clone()
            .flat_map(move |version| (0..SAMPLES).map(move |seed| (version, (self.sample)(seed, version))))
    }
}

#[test]
fn a_message_cut_anywhere_is_refused() {
    for subject in Subject::all() {
        for (version, whole) in subject.samples() {
            for length in 0..whole.len() {
                let read = (subject.decode)(&whole.slice(..length), version);
                assert!(read.is_err(), "{} version {version}: cut to {length} of {whole:?}", subject.name);
            }
        }
    }
}

#[test]
fn claimed_lengths_never_choose_the_size_of_an_allocation() {
    let tails = [Bytes::new(), Bytes::from(vec![0; 1 << 12]), Bytes::from(vec![1; 1 << 12])];
    for subject in Subject::all() {
        for (version, whole) in subject.samples() {
            for position in 0..whole.len() {
                // In turn: neighbouring versions have the same fields a few bytes apart.
                let tail = &tails[(position + version as usize) % tails.len()];
                for length in lengths(version >= subject.flexible_from, tail.len()) {
                    let mut frame = BytesMut::from(&whole[..position]);
                    frame.put(length);
                    frame.put(tail.clone());
                    // Refused or not, as chance has it; what matters is the memory it takes.
                    let _ = (subject.decode)(&frame.freeze(), version);
                }
            }
        }
    }
}

/// Encoded lengths: the largest there are, ones below null, and the number of bytes that follow.
fn lengths(flexible: bool, following: usize) -> Vec<Bytes> {
    if flexible {
        let mut number = following as u32 + 1;
        let mut varint = BytesMut::new();
        while number >= 0x80 {
            varint.put_u8((number as u8) | 0x80);
            number >>= 7;
        }
        varint.put_u8(number as u8);
        vec![Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x0f]), Bytes::from_static(&[0xff; 5]), varint.freeze()]
    } else {
        [i32::MAX, i32::MIN, -2, i32::from(i16::MAX) << 16, following as i32]
            .into_iter()
            .map(|length| Bytes::copy_from_slice(&length.to_be_bytes()))
            .collect()
    }
}

#[test]
fn damaged_messages_are_refused_or_decode_to_something_that_encodes() {
    for (index, subject) in Subject::all().into_iter().enumerate() {
        let samples: Vec<(i16, Bytes)> = subject.samples().collect();
        let mut random = random(index as u64);
        let mut refused = 0;
        for _ in 0..MUTATIONS {
            let (version, whole) = &samples[random() as usize % samples.len()];
            let mut frame = whole.to_vec();
            for _ in 0..=random() % 4 {
                if frame.is_empty() {
                    break;
                }
                let position = random() as usize % frame.len();
                match random() % 4 {
                    0 => frame[position] = random() as u8,
                    1 => frame[position] ^= 1 << (random() % 8),
                    2 => drop(frame.remove(position)),
                    _ => frame.insert(position, random() as u8),
                }
            }
            refused += usize::from((subject.decode)(&Bytes::from(frame), *version).is_err());
        }
        // A byte more or less is noticed in every message but one of no bytes at all.
        assert!(refused > 0, "{}: no damage was noticed", subject.name);
    }
}

#[test]
fn an_array_longer_than_the_bytes_left_is_refused() {
    let read = |frame: &'static [u8], version| MetadataRequest::read(&mut Reader::new(&Bytes::from(frame)), version);
    let too_long = |count, left| Err(DecodeError::ArrayTooLong { count, left });
    assert_eq!(read(&[0x7f, 0xff, 0xff, 0xff], 1), too_long(i32::MAX as usize, 0));
    assert_eq!(read(&[0, 0, 0, 4, 0, 0, 0], 1), too_long(4, 3));
    assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0], 9), too_long(u32::MAX as usize - 1, 2));
    assert_eq!(read(&[5, 1, 0, 1], 9), too_long(4, 3));
}

#[test]
fn an_array_of_tiny_elements_is_held_to_a_multiple_of_the_frame() {
    // Two bytes an element, an empty name and no tagged fields, against some forty in memory.
    let frame = |count: u32| {
        let count_bytes =
            [(count as u8) | 0x80, ((count >> 7) as u8) | 0x80, ((count >> 14) as u8) | 0x80, (count >> 21) as u8];
        let mut frame = BytesMut::from(&count_bytes[..]);
        for _ in 1..count {
            frame.put_slice(&[1, 0]);
        }
        frame.put_slice(&[0, 0, 0, 0]);
        frame.freeze()
    };
    let read = |frame: &Bytes| MetadataRequest::read(&mut Reader::new(frame), 9);
    let topics = read(&frame(10_001)).expect("a modest request is served").topics.expect("the list is there");
    assert_eq!(topics.len(), 10_000);

    let large = frame(2_000_001);
    let memory = allocation_counter::measure(|| assert_eq!(read(&large), Err(DecodeError::TooLarge)));
    assert_eq!(memory.bytes_max, 0, "refused before anything was reserved");
}

#[test]
fn nested_arrays_share_one_budget() {
    // Topics of 200 settings, each four bytes here and 48 in memory: every topic by itself is modest.
    let frame = |topics: i32| {
        let mut frame = BytesMut::new();
        frame.put_i32(topics);
        for _ in 0..topics {
            frame.put_slice(&[0, 1, b't']);
            frame.put_i32(1);
            frame.put_i16(1);
            frame.put_i32(0);
            frame.put_i32(200);
            frame.put_bytes(0, 200 * 4);
        }
        frame.put_slice(&[0, 0, 0, 0, 0]);
        frame.freeze()
    };
    let read = |frame: &Bytes| {
        let mut read = None;
        let memory = allocation_counter::measure(|| {
            read = Some(CreateTopicsRequest::read(&mut Reader::new(frame), 2).map(|request| request.topics.len()));
        });
        assert!(memory.bytes_max <= memory_allowed(frame), "{} bytes for {}", memory.bytes_max, frame.len());
        read
    };
    assert_eq!(read(&frame(100)), Some(Ok(100)));
    assert_eq!(read(&frame(1_000)), Some(Err(DecodeError::TooLarge)));
}

#[test]
fn a_request_is_held_to_what_a_real_one_needs_however_large_it_is() {
    let named = |count: usize| {
        let mut frame = BytesMut::new();
        frame.put_i32(count as i32);
        (0..count).for_each(|number| frame.put_slice(format!("\0\x0btopic{number:06}").as_bytes()));
        frame.freeze()
    };
    let read = |frame: &Bytes| {
        let mut read = Ok(0);
        let memory = allocation_counter::measure(|| {
            let request = MetadataRequest::read(&mut Reader::for_request(frame), 0);
            read = request.map(|request| request.topics.map_or(0, |topics| topics.len()));
        });
        assert!(memory.bytes_max <= (9 << 20) + frame.len() as u64, "{} bytes", memory.bytes_max);
        read
    };
    assert_eq!(read(&named(100_000)), Ok(100_000));
    let many = named(500_000);
    assert_eq!(read(&many), Err(DecodeError::TooLarge));
    assert!(MetadataRequest::read(&mut Reader::new(&many), 0).is_ok(), "an answer of that size is read");
}

#[test]
fn record_batches_take_no_memory_beyond_their_frame() {
    const BATCHES: usize = 50 << 20;
    let mut frame = BytesMut::from(&[0xff, 0xff, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0][..]);
    frame.put_i32(BATCHES as i32);
    frame.put_bytes(1, BATCHES);
    let frame = frame.freeze();
    let memory = allocation_counter::measure(|| {
        let request = ProduceRequest::read(&mut Reader::for_request(&frame), 3).expect("it is a request");
        let records = request.topic_data[0].partition_data[0].records.as_ref();
        assert_eq!(records.map(pillion_wire::Records::length), Some(BATCHES));
    });
    assert!(memory.bytes_total < 1024, "{} bytes", memory.bytes_total);
}
