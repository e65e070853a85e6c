//! Rows one at a time, by the simple query protocol: it needs no prepared statement, which a pooler may lose, and sends
//! every value as text.

use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio_postgres::{Client, SimpleQueryMessage, SimpleQueryRow, SimpleQueryStream};

use crate::control::ControlError;
use crate::pgoutput::Cell;

/// A query's rows on their way. The server sends no more than is taken: what waits, waits there and in the socket.
/// Dropping it leaves rows in the connection, which is then of no use.
pub(crate) struct Rows {
    stream: Pin<Box<SimpleQueryStream>>,
}

impl Rows {
    /// Sends `query`.
    ///
    /// # Errors
    /// When the connection is closed.
    pub(crate) async fn of(client: &Client, query: &str) -> Result<Rows, ControlError> {
        Ok(Rows { stream: Box::pin(client.simple_query_raw(query).await?) })
    }

    /// The next row; `None` behind the last.
    ///
    /// # Errors
    /// What the server says, or that it is gone.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Cell>>, ControlError> {
        loop {
            match self.stream.next().await {
                Some(Ok(SimpleQueryMessage::Row(row))) => return Ok(Some(cells(&row))),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(None),
            }
        }
    }
}

/// All rows of a query's answer; for answers known to be small.
///
/// # Errors
/// What the server says, or that it is gone.
pub(crate) async fn ask(client: &Client, query: &str) -> Result<Vec<SimpleQueryRow>, ControlError> {
    let messages = client.simple_query(query).await?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}

/// A row's values, slices of one allocation.
fn cells(row: &SimpleQueryRow) -> Vec<Cell> {
    let values = || (0..row.len()).map(|index| row.get(index));
    let size = values().flatten().map(str::len).sum();
    let mut text = BytesMut::with_capacity(size);
    values().flatten().for_each(|value| text.extend_from_slice(value.as_bytes()));
    let mut text: Bytes = text.freeze();
    values().map(|value| value.map_or(Cell::Null, |value| Cell::Text(text.split_to(value.len())))).collect()
}
