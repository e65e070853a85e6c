//! Tagged fields (KIP-482) of requests from anyone: unknown ones are skipped, and what breaks their rules, or is more than
//! any struct has, is refused.

use bytes::{BufMut, Bytes, BytesMut};
use pillion_wire::frame::RequestHeader;
use pillion_wire::messages::ApiVersionsRequest;
use pillion_wire::{DecodeError, Message, Reader};

/// An ApiVersions request of version 3 with `tags` as its tagged fields.
fn with_tagged_fields(count: &[u8], tags: &[u8]) -> Bytes {
    let mut frame = BytesMut::from(&[2, b'c', 2, b'1'][..]);
    frame.put_slice(count);
    frame.put_slice(tags);
    frame.freeze()
}

#[test]
fn unknown_tagged_fields_are_skipped_without_memory() {
    let tags: Vec<u8> = (0..64).flat_map(|tag| [tag, 1, 0xff]).collect();
    let frame = with_tagged_fields(&[64], &tags);
    let mut read = None;
    let memory = allocation_counter::measure(|| {
        let mut reader = Reader::new(&frame);
        let request = ApiVersionsRequest::read(&mut reader, 3).expect("unknown tags are no error");
        read = Some((request.client_software_name, reader.remaining()));
    });
    assert_eq!(read, Some(("c".to_owned(), 0)));
    assert!(memory.bytes_total < 64, "{} bytes", memory.bytes_total);
}

#[test]
fn more_tagged_fields_than_any_struct_has_are_refused_unread() {
    // Tens of millions of empty fields, in the header and in the body of a request that needs no authentication.
    const COUNT: usize = 30_000_000;
    let tags = vec![0; 2 * COUNT];
    let count = [0x80, 0x87, 0xa7, 0x0e];
    let refused = Err(DecodeError::TooManyTaggedFields(COUNT));
    let body = with_tagged_fields(&count, &tags);
    assert_eq!(ApiVersionsRequest::read(&mut Reader::for_request(&body), 3).map(|_| ()), refused);
    let header = Bytes::from([&count, &tags[..]].concat());
    assert_eq!(RequestHeader::skip_tagged_fields(&mut Reader::for_request(&header)), refused);
}

#[test]
fn tagged_fields_that_break_their_rules_are_refused() {
    let read = |count: &[u8], tags: &[u8]| {
        ApiVersionsRequest::read(&mut Reader::new(&with_tagged_fields(count, tags)), 3).map(|_| ())
    };
    assert_eq!(read(&[1], &[9, 2, 0, 0]), Ok(()));
    assert_eq!(
        read(&[0xff, 0xff, 0xff, 0xff, 0x0f], &[9, 0]),
        Err(DecodeError::TooManyTaggedFields(u32::MAX as usize))
    );
    assert_eq!(read(&[2], &[9, 0]), Err(DecodeError::Truncated { needed: 1, left: 0 }));
    assert_eq!(read(&[2], &[9, 0, 9, 0]), Err(DecodeError::DuplicateTag(9)));
    assert_eq!(read(&[1], &[9, 3, 0, 0]), Err(DecodeError::Truncated { needed: 3, left: 2 }));
    assert_eq!(read(&[1], &[0xff, 0xff, 0xff, 0xff, 0xff, 0]), Err(DecodeError::VarintTooLong));
}
