use bytes::{BufMut, BytesMut};

use super::{FRAME_BYTES_MAX, Frames, RESERVE_BYTES_MAX};

fn receive(frames: &mut Frames, bytes: &[u8]) {
    frames.room().put_slice(bytes);
}

#[test]
fn frames_come_out_whole_however_the_bytes_are_cut() {
    let mut stream = BytesMut::new();
    for content in [&b"first"[..], b"second frame", b"3333"] {
        stream.put_i32(content.len() as i32);
        stream.put_slice(content);
    }
    for size in 1..stream.len() {
        let mut frames = Frames::default();
        let mut taken = Vec::new();
        for piece in stream.chunks(size) {
            receive(&mut frames, piece);
            while let Some(frame) = frames.next().unwrap() {
                taken.push(frame);
            }
        }
        assert_eq!(taken, [&b"first"[..], b"second frame", b"3333"], "cut every {size} bytes");
    }
}

#[test]
fn lengths_no_answer_has_are_refused() {
    for length in [-1, i32::MIN, 0, 3, FRAME_BYTES_MAX as i32 + 1, i32::MAX] {
        let mut frames = Frames::default();
        receive(&mut frames, &length.to_be_bytes());
        assert_eq!(frames.next(), Err(length));
    }
}

#[test]
fn long_frame_is_not_reserved_before_its_bytes_arrive() {
    let mut frames = Frames::default();
    receive(&mut frames, &(FRAME_BYTES_MAX as i32).to_be_bytes());
    assert_eq!(frames.next(), Ok(None));
    assert!(frames.room().capacity() <= 2 * RESERVE_BYTES_MAX);
}
