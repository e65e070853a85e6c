//! Reads fetch answers as a stream: fields are parsed as they arrive, and whoever asked takes or drops the records, so
//! that no answer is ever in memory as a whole.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Context, Result, bail, ensure};
use pillion_wire::frame::encode_request;
use pillion_wire::messages::FetchRequest;
use pillion_wire::messages::fetch::{FetchPartition, FetchTopic};
use rustix::net::RecvFlags;

use crate::batch::into_bytes;
use crate::connection::{CLIENT_ID, FETCH_VERSION, connect, error_name};
use crate::socket;

/// Bytes dropped by one system call at most.
const DISCARD_BYTES: usize = 1 << 20;

/// A connection that fetches.
#[derive(Debug)]
pub(crate) struct FetchStream {
    stream: TcpStream,
    topic: String,
    correlation_id: i32,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Bytes of the answer at hand that have not been taken.
    left: usize,
    /// Bytes read beyond what is wanted: few when records are dropped, many when they are read.
    read_ahead: usize,
    scratch: Vec<u8>,
}

/// Limits of one fetch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchLimits {
    /// Bytes wanted at most.
    pub(crate) bytes_max: usize,
    /// Bytes wanted of one partition at most.
    pub(crate) partition_bytes_max: usize,
    /// Milliseconds to wait for the first byte.
    pub(crate) wait_ms_max: i32,
}

/// One partition's part of an answer, in front of its records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartitionPart {
    /// The partition's number.
    pub(crate) partition: i32,
    /// Its high watermark, exclusive.
    pub(crate) high_watermark: i64,
    /// Bytes of records, which follow.
    pub(crate) records_bytes: usize,
}

impl FetchStream {
    /// Connects; `read_ahead` is in bytes.
    pub(crate) fn open(address: &str, topic: &str, read_ahead: usize) -> Result<Self> {
        Ok(Self {
            stream: connect(address)?,
            topic: topic.to_owned(),
            correlation_id: 0,
            buffer: vec![0; read_ahead],
            begin: 0,
            end: 0,
            left: 0,
            read_ahead,
            scratch: vec![0; DISCARD_BYTES],
        })
    }

    /// Asks for records of these partitions from these offsets on, outside a fetch session.
    pub(crate) fn ask(&mut self, offsets: impl Iterator<Item = (i32, i64)>, limits: FetchLimits) -> Result<()> {
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let partitions = offsets.map(|(partition, fetch_offset)| FetchPartition {
            partition,
            fetch_offset,
            partition_max_bytes: limits.partition_bytes_max as i32,
            ..FetchPartition::default()
        });
        let topic = FetchTopic { topic: self.topic.clone(), partitions: partitions.collect(), ..FetchTopic::default() };
        let request = FetchRequest {
            max_wait_ms: limits.wait_ms_max,
            min_bytes: 1,
            max_bytes: limits.bytes_max as i32,
            topics: vec![topic],
            ..FetchRequest::default()
        };
        let chunks = encode_request(&request, FETCH_VERSION, self.correlation_id, Some(CLIENT_ID))?;
        self.stream.write_all(&into_bytes(chunks).concat()).context("cannot send Fetch")
    }

    /// Reads the answer. `visit` is called for each partition and has to take or drop exactly its records.
    pub(crate) fn answer(&mut self, mut visit: impl FnMut(&mut Self, PartitionPart) -> Result<()>) -> Result<()> {
        self.left = 4;
        self.left = usize::try_from(self.int32()?)?;
        let correlation_id = self.int32()?;
        ensure!(correlation_id == self.correlation_id, "fetch answers came out of order");
        self.tagged_fields()?;
        self.drop_bytes(4)?; // Throttle time.
        let code = self.int16()?;
        ensure!(code == 0, "Fetch: {}", error_name(code));
        self.drop_bytes(4)?; // Session id.
        for _ in 1..self.unsigned_varint()? {
            let name = self.unsigned_varint()?.saturating_sub(1);
            self.drop_bytes(name)?;
            for _ in 1..self.unsigned_varint()? {
                let part = self.partition_part()?;
                let behind = self.left.checked_sub(part.records_bytes).context("records beyond the answer's end")?;
                visit(self, part)?;
                ensure!(self.left == behind, "the records were not taken as a whole");
                self.tagged_fields()?;
            }
            self.tagged_fields()?;
        }
        self.tagged_fields()?;
        ensure!(self.left == 0, "{} bytes behind the answer's end", self.left);
        Ok(())
    }

    fn partition_part(&mut self) -> Result<PartitionPart> {
        let partition = self.int32()?;
        let code = self.int16()?;
        ensure!(code == 0, "partition {partition}: {}", error_name(code));
        let high_watermark = self.int64()?;
        self.drop_bytes(16)?; // Last stable and log start offset.
        for _ in 1..self.unsigned_varint()? {
            self.drop_bytes(16)?; // An aborted transaction.
            self.tagged_fields()?;
        }
        self.drop_bytes(4)?; // Preferred replica.
        let records_bytes = self.unsigned_varint()?.saturating_sub(1);
        Ok(PartitionPart { partition, high_watermark, records_bytes })
    }

    /// The next bytes of the answer.
    pub(crate) fn take(&mut self, length: usize) -> Result<&[u8]> {
        self.left = self.left.checked_sub(length).context("an answer ends early")?;
        if self.end - self.begin < length {
            self.fill(length)?;
        }
        self.begin += length;
        Ok(&self.buffer[self.begin - length..self.begin])
    }

    /// Drops the next bytes of the answer, inside the kernel as far as they have not been read.
    pub(crate) fn drop_bytes(&mut self, length: usize) -> Result<()> {
        self.left = self.left.checked_sub(length).context("an answer ends early")?;
        let read = length.min(self.end - self.begin);
        self.begin += read;
        socket::discard(&self.stream, length - read, &mut self.scratch)
    }

    /// Takes the next bytes of the answer through user space and forgets them, as a client that looks at them must.
    pub(crate) fn copy_bytes(&mut self, length: usize) -> Result<()> {
        let mut left = length;
        while left > 0 {
            let part = left.min(self.read_ahead);
            self.take(part)?;
            left -= part;
        }
        Ok(())
    }

    /// Makes `length` bytes stand in the buffer without a gap.
    fn fill(&mut self, length: usize) -> Result<()> {
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        while self.end < length {
            let bound = self.buffer.len().min(length.max(self.read_ahead));
            let received = socket::receive(&self.stream, &mut self.buffer[self.end..bound], RecvFlags::empty())?;
            self.end += received.unwrap_or(0);
        }
        Ok(())
    }

    fn int16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into()?))
    }

    fn int32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }

    fn int64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into()?))
    }

    fn unsigned_varint(&mut self) -> Result<usize> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.take(1)?[0];
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        bail!("a number of more than five bytes")
    }

    fn tagged_fields(&mut self) -> Result<()> {
        for _ in 0..self.unsigned_varint()? {
            self.unsigned_varint()?;
            let length = self.unsigned_varint()?;
            self.drop_bytes(length)?;
        }
        Ok(())
    }
}
