//! A Kafka client for tokio on `pillion-wire`: connections, metadata, idempotent and transactional produce, assigned
//! and group consumption, admin.
//!
//! ```text
//! TransactionalProducer ─ Producer ─┐              ┌─ Metadata: brokers, leaders, epochs (one task, one request at a time)
//! GroupConsumer ───────── Consumer ─┼─ Client ─────┼─ Coordinators: of groups and transactional ids
//!                         Admin ────┘              └─ Pool: one connection a broker and purpose (one task each),
//!                                                     over TLS and SASL where SecurityConfig says so
//! ```
//!
//! What decides (accumulator, sequence numbers, transactions, membership, assignors, verdicts on errors, frames,
//! batches read) is synchronous and takes the time as an argument; sockets and timers stand at the edges. Tried
//! against Apache Kafka 4.4 in both versions of its transactions; brokers from 2.5 on speak all it asks for.

mod admin;
mod backoff;
mod client;
mod committed;
mod connection;
mod consumer;
mod coordinator;
mod error;
mod group;
mod metadata;
mod offsets;
mod producer;
mod security;
mod transaction;

pub use admin::{
    Admin, AdminError, BrokerDescription, ClusterDescription, ConfigChange, ConfigEntry, ConfigOperation,
    ConfigResource, ConfigSource, DeletedRecords, GroupDescription, GroupListing, GroupMember, GroupOutcome,
    LogDirectory, NewTopic, PartitionDescription, ResourceConfigs, TopicDescription, TopicListing, TopicOutcome,
};
pub use client::{Client, ClientConfig};
pub use committed::{CommittedOffset, GroupMetadata};
pub use connection::{AuthenticationError, ConnectionError, TlsAdvice};
pub use consumer::{Assignment, ConsumedRecord, Consumer, ConsumerConfig, IsolationLevel};
pub use error::ClientError;
pub use group::{Assignor, GroupConfig, GroupConsumer, GroupError, OffsetReset, Polled, TopicPartition};
pub use offsets::{ListedOffset, Offset};
pub use pillion_wire::ErrorCode;
pub use pillion_wire::records::{Compression, RecordHeader as Header};
pub use producer::{Acks, Delivered, DeliveryHandle, ProduceError, Producer, ProducerConfig, ProducerRecord, murmur2};
pub use security::{CertificateError, SaslMechanism, ScramError, SecurityConfig, SecurityError, SecurityProtocol};
pub use transaction::{
    AbortCause, Transaction, TransactionError, TransactionErrorClass, TransactionOutcome, TransactionalConfig,
    TransactionalProducer,
};
