//! Reads what an evaluation found and sends it.

use std::io;

use bytes::Bytes;
use pillion_wire::Records;
use pillion_wire::messages::FetchResponse;

use super::evaluate::Evaluation;
use crate::log::{LogSlice, ReadFrom};
use crate::network::Responder;

/// Slices up to this size are read and sent with the rest of the answer; larger ones go by sendfile.
const READ_BYTES_MAX: usize = 32 * 1024;
/// Bytes read at once to bring a cold slice into memory.
const WARM_BYTES: usize = 256 * 1024;

/// Sends the answer; gives the responder back when bytes are not in memory and `from` forbids to wait for them.
pub(super) fn send(responder: Responder, evaluation: Evaluation, from: ReadFrom) -> Result<(), Responder> {
    let Evaluation { mut topics, slices, .. } = evaluation;
    let mut external = Vec::new();
    for (topic, place, slice) in slices {
        let records = match records(&slice, from, external.len()) {
            Ok(records) => records,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && from == ReadFrom::Memory => {
                return Err(responder);
            }
            Err(error) => {
                tracing::error!(%error, "cannot read a segment; closing the consumer's connection");
                responder.close();
                return Ok(());
            }
        };
        if matches!(records, Records::External { .. }) {
            external.push(slice);
        }
        topics[topic].partitions[place].records = Some(records);
    }
    let response = FetchResponse { responses: topics, ..FetchResponse::default() };
    responder.answer_with_slices(&response, &external);
    Ok(())
}

/// The slice's bytes, or a reference to them that becomes a sendfile.
fn records(slice: &LogSlice, from: ReadFrom, id: usize) -> io::Result<Records> {
    if slice.length > READ_BYTES_MAX && slice.file.descriptor().is_some() {
        match from {
            ReadFrom::Memory => probe(slice)?,
            ReadFrom::Disk => warm(slice)?,
        }
        return Ok(Records::External { id: id as u32, length: slice.length as u32 });
    }
    let mut bytes = vec![0; slice.length];
    let read = match from {
        ReadFrom::Memory => slice.file.read_cached_at(slice.position, &mut bytes)?,
        ReadFrom::Disk => slice.file.read_at(slice.position, &mut bytes)?,
    };
    if read < slice.length {
        return Err(match from {
            ReadFrom::Memory => io::ErrorKind::WouldBlock.into(),
            ReadFrom::Disk => io::ErrorKind::UnexpectedEof.into(),
        });
    }
    Ok(Records::Bytes(Bytes::from(bytes)))
}

/// Fails when the slice's ends are not in memory: sendfile would wait for the disk on the event loop.
fn probe(slice: &LogSlice) -> io::Result<()> {
    let mut byte = [0];
    slice.file.read_cached_at(slice.position, &mut byte)?;
    slice.file.read_cached_at(slice.position + slice.length as u64 - 1, &mut byte)?;
    Ok(())
}

/// Reads the slice, so that it is in memory when it is sent.
fn warm(slice: &LogSlice) -> io::Result<()> {
    let mut scratch = vec![0; WARM_BYTES.min(slice.length)];
    let mut position = slice.position;
    let end = slice.position + slice.length as u64;
    while position < end {
        let wanted = scratch.len().min((end - position) as usize);
        position += slice.file.read_at(position, &mut scratch[..wanted])?.max(1) as u64;
    }
    Ok(())
}
