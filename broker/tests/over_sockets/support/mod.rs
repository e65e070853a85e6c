//! What every test needs: a broker, a connection to it, batches, and the requests asked most.

mod batches;
mod broker;
mod client;
mod ext4;
mod history;
mod load;
mod process;
mod requests;

pub(crate) use batches::{altered, batch, batch_of, idempotent, record, records_of, split};
pub(crate) use broker::{TestBroker, config};
pub(crate) use client::{Client, PATIENCE, eventually, frame};
pub(crate) use ext4::Ext4;
pub(crate) use history::History;
pub(crate) use load::{Load, Producer};
pub(crate) use process::{ServedProcess, StartingProcess};
pub(crate) use requests::{
    Fetched, create_topic, delete_topic, fetch, fetch_request, list_offset, metadata, produce, produce_request,
    produce_with, producer_id, read_all,
};
