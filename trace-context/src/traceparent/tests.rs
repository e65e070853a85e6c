//! What W3C Trace Context accepts and refuses in a `traceparent`.

use proptest::prelude::*;

use super::*;

const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn check_refused(text: &str, expected: InvalidTraceParent) {
    assert_eq!(text.parse::<TraceParent>(), Err(expected), "{text}");
}

#[test]
fn valid_traceparent_is_written_back_unchanged() {
    let parent: TraceParent = VALID.parse().unwrap();
    assert_eq!(parent.to_string(), VALID);
    assert_eq!(parent.to_bytes().as_slice(), VALID.as_bytes());
    assert_eq!(parent.trace_id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(parent.parent_id.to_string(), "00f067aa0ba902b7");
    assert!(parent.is_sampled());
    assert!(!parent.is_random());
}

#[test]
fn every_wrong_length_of_version_00_is_refused() {
    for length in 0..TRACEPARENT_LENGTH {
        check_refused(&VALID[..length], InvalidTraceParent::Length);
    }
    check_refused(&format!("{VALID}-"), InvalidTraceParent::Length);
    check_refused(&format!("{VALID}-what-the-future-adds"), InvalidTraceParent::Length);
    check_refused(&format!("{VALID} "), InvalidTraceParent::Length);
    check_refused("00-1-1-01", InvalidTraceParent::Length);
}

#[test]
fn higher_version_is_read_by_its_first_55_bytes_and_written_as_00() {
    for text in [VALID.replacen("00", "01", 1), format!("cc{}-what-the-future-adds", &VALID[2..])] {
        assert_eq!(text.parse::<TraceParent>().unwrap().to_string(), VALID);
    }
    check_refused(&format!("cc{}.what", &VALID[2..]), InvalidTraceParent::Length);
    check_refused(&format!("01{}", &VALID[2..54]), InvalidTraceParent::Length);
}

#[test]
fn version_ff_is_refused() {
    check_refused(&VALID.replacen("00", "ff", 1), InvalidTraceParent::Version);
    check_refused(&format!("ff{}-more", &VALID[2..]), InvalidTraceParent::Version);
}

#[test]
fn zero_ids_are_refused() {
    check_refused("00-00000000000000000000000000000000-00f067aa0ba902b7-01", InvalidTraceParent::ZeroId);
    check_refused("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", InvalidTraceParent::ZeroId);
    assert_eq!(TraceId::from_bytes([0; 16]), None);
    assert_eq!(SpanId::from_bytes([0; 8]), None);
}

#[test]
fn every_byte_that_is_not_a_lower_case_digit_or_a_dash_in_its_place_is_refused() {
    for position in 0..TRACEPARENT_LENGTH {
        for wrong in [b'A', b'F', b'g', b'/', b':', b'.', b' ', 0, 0xc3] {
            let mut text = VALID.as_bytes().to_vec();
            text[position] = wrong;
            assert!(TraceParent::parse(&text).is_err(), "byte {position} = {wrong:#x}");
        }
    }
}

#[test]
fn flags_keep_sampled_and_random_and_lose_unknown_bits() {
    for (read, written, sampled, random) in [
        ("00", "00", false, false),
        ("02", "02", false, true),
        ("03", "03", true, true),
        ("ff", "03", true, true),
        ("fc", "00", false, false),
    ] {
        let parent: TraceParent = format!("{}{read}", &VALID[..53]).parse().unwrap();
        assert_eq!(parent.to_string(), format!("{}{written}", &VALID[..53]));
        assert_eq!((parent.is_sampled(), parent.is_random()), (sampled, random), "flags {read}");
    }
}

#[test]
fn span_context_carries_ids_and_flags_and_is_remote() {
    let parent: TraceParent = format!("{}03", &VALID[..53]).parse().unwrap();
    let context = parent.to_span_context();
    assert!(context.is_remote());
    assert!(context.is_valid());
    assert_eq!(context.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(TraceParent::from_span_context(&context), Some(parent));
    assert_eq!(TraceParent::from_span_context(&SpanContext::NONE), None);
}

proptest! {
    #[test]
    fn any_ids_and_flags_survive_writing_and_reading(
        trace_id in any::<[u8; 16]>(), parent_id in any::<[u8; 8]>(), flags in 0u8..4,
    ) {
        prop_assume!(trace_id != [0; 16] && parent_id != [0; 8]);
        let parent = TraceParent {
            trace_id: TraceId::from_bytes(trace_id).unwrap(),
            parent_id: SpanId::from_bytes(parent_id).unwrap(),
            flags,
        };
        prop_assert_eq!(parent.to_string().parse::<TraceParent>(), Ok(parent));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = TraceParent::parse(&bytes);
    }
}
