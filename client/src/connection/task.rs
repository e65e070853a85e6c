//! The task of a connection: reads answers and completes the requests they belong to, writes what did not fit at
//! once, gives up on a broker that does not answer.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::frames::Frames;
use super::{Connection, ConnectionError};

/// Deadlines are looked at this many times a request timeout, rather than with a timer a request.
const TICKS_A_TIMEOUT: u32 = 6;
/// Reads in a row before other tasks of the worker get their turn.
const READS_MAX: usize = 32;

/// Serves `connection` until it ends.
pub(super) async fn run(connection: Arc<Connection>, cancelled: CancellationToken) {
    let mut frames = Frames::default();
    let mut ticks = interval((connection.request_timeout / TICKS_A_TIMEOUT).max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while connection.is_open() {
        let writing = !connection.lock().outgoing.is_empty() || connection.transport.wants_flush();
        tokio::select! {
            () = cancelled.cancelled() => connection.close(),
            ready = connection.transport.ready(writing) => {
                if let Err(source) = ready {
                    connection.end(ConnectionError::of_socket(&connection.address, source));
                    break;
                }
                if writing {
                    connection.flush(connection.lock());
                }
                if let Err(error) = read(&connection, &mut frames) {
                    connection.end(error);
                }
            }
            () = connection.wake.notified() => {}
            _ = ticks.tick() => check_deadlines(&connection),
        }
    }
}

/// Reads what is there and completes what is answered.
fn read(connection: &Connection, frames: &mut Frames) -> Result<(), ConnectionError> {
    let address = || connection.address.to_string();
    for _ in 0..READS_MAX {
        match connection.transport.try_read(frames.room()) {
            Ok(0) => return Err(closed_by_broker(connection)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(ConnectionError::of_socket(&connection.address, source)),
        }
        loop {
            match frames.next() {
                Ok(Some(frame)) => complete(connection, frame)?,
                Ok(None) => break,
                Err(length) if is_tls_alert(length) => return Err(ConnectionError::TlsWanted { address: address() }),
                Err(length) => return Err(ConnectionError::FrameLength { address: address(), length }),
            }
        }
    }
    Ok(())
}

/// A broker that closes before it has served anything is most often one that expects another protocol.
fn closed_by_broker(connection: &Connection) -> ConnectionError {
    let address = connection.address.to_string();
    if connection.lock().answered > 1 {
        return ConnectionError::ClosedByBroker { address };
    }
    ConnectionError::ClosedEarly { address, protocol: connection.protocol.name() }
}

/// Whether what was read as a length is the beginning of a TLS alert: type 21, version 3.x, two bytes.
fn is_tls_alert(length: i32) -> bool {
    matches!(length.to_be_bytes(), [0x15, 0x03, 0..=4, 0])
}

/// Completes the request that has waited longest: answers come in order.
fn complete(connection: &Connection, frame: Bytes) -> Result<(), ConnectionError> {
    let actual = frame.first_chunk::<4>().map_or(-1, |id| i32::from_be_bytes(*id));
    let mut state = connection.lock();
    let expected = state.waiting.front().map_or(-1, |waiting| waiting.correlation_id);
    if state.waiting.is_empty() || actual != expected {
        return Err(ConnectionError::CorrelationMismatch { address: connection.address.to_string(), expected, actual });
    }
    let waiting = state.waiting.pop_front();
    state.answered = state.answered.saturating_add(1);
    drop(state);
    if let Some(waiting) = waiting {
        (waiting.completion)(Ok(frame));
    }
    Ok(())
}

/// Ends the connection when an answer is overdue: the ones behind it would not come either.
fn check_deadlines(connection: &Connection) {
    let now = Instant::now();
    let overdue = {
        let state = connection.lock();
        state.waiting.iter().find(|waiting| waiting.deadline <= now).map(|waiting| (waiting.api, waiting.waited))
    };
    if let Some((what, waited)) = overdue {
        connection.end(ConnectionError::TimedOut { address: connection.address.to_string(), what, waited });
    }
}
