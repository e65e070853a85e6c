//! What `send` gives: a future of the record's fate.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::dispatch::Dispatch;
use super::{Delivered, ProduceError};

/// Resolves once the record is delivered or has failed. Dropping it changes nothing for the record.
#[derive(Debug)]
#[must_use = "a record's failure is told nowhere else"]
pub struct DeliveryHandle {
    topic: Arc<str>,
    fate: oneshot::Receiver<Result<(i32, i64), ProduceError>>,
    /// Until the first poll: whoever begins to wait sends what is queued itself, which saves waking another task.
    dispatch: Option<Arc<Dispatch>>,
}

impl DeliveryHandle {
    pub(super) fn new(
        topic: Arc<str>,
        fate: oneshot::Receiver<Result<(i32, i64), ProduceError>>,
        dispatch: Arc<Dispatch>,
    ) -> Self {
        Self { topic, fate, dispatch: Some(dispatch) }
    }
}

impl Future for DeliveryHandle {
    type Output = Result<Delivered, ProduceError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(dispatch) = self.dispatch.take() {
            dispatch.drive();
        }
        let fate = std::task::ready!(Pin::new(&mut self.fate).poll(context));
        Poll::Ready(match fate {
            Ok(Ok((partition, offset))) => Ok(Delivered { topic: self.topic.clone(), partition, offset }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ProduceError::Closed),
        })
    }
}
