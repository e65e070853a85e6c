//! One transactional producer: a connection of its own, one transaction behind the other.

use anyhow::{Context, Result};
use pillion_wire::Records;
use pillion_wire::messages::add_partitions_to_txn::AddPartitionsToTxnTopic;
use pillion_wire::messages::produce::{PartitionProduceData, TopicProduceData};
use pillion_wire::messages::{AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest};
use pillion_wire::records::BatchProducer;

use crate::batch::BatchShape;
use crate::connection::Connection;
use crate::coordinator::{self, Kind};

/// The version of InitProducerId that is spoken.
const INIT_VERSION: i16 = 5;
/// The version of AddPartitionsToTxn that is spoken: the last that clients send.
const ADD_VERSION: i16 = 3;
/// Milliseconds after which the coordinator aborts a transaction: Kafka's default.
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;

/// Which of the two protocols of transactions is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// KIP-890: a produce adds its partition, and each transaction has an epoch of its own.
    Second,
    /// KIP-98: partitions are added before, and the epoch stays.
    First,
}

impl Protocol {
    /// The version of Produce: up to 11 a partition must have been added before, and 12 is the last with names.
    fn produce_version(self) -> i16 {
        match self {
            Self::Second => 12,
            Self::First => 11,
        }
    }

    /// The version of EndTxn: from 5 on it brings the next epoch.
    fn end_version(self) -> i16 {
        match self {
            Self::Second => 5,
            Self::First => 4,
        }
    }
}

/// Where a producer writes, and what.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The producer's identity.
    pub(super) transactional_id: String,
    /// The topic of all its transactions.
    pub(super) topic: String,
    /// The partition of all its transactions.
    pub(super) partition: i32,
    /// What each transaction writes.
    pub(super) batch: BatchShape,
    /// How.
    pub(super) protocol: Protocol,
}

/// A producer with an id.
#[derive(Debug)]
pub(super) struct Producer {
    connection: Connection,
    work: Work,
    id: i64,
    epoch: i16,
    sequence: i32,
    asked_again: u64,
}

impl Producer {
    /// Connects and takes an id.
    pub(super) fn open(address: &str, work: Work) -> Result<Self> {
        let mut connection = Connection::open(address)?;
        connection.greet()?;
        coordinator::find(&mut connection, Kind::Transaction, &work.transactional_id)?;
        let request = InitProducerIdRequest {
            transactional_id: Some(work.transactional_id.clone()),
            transaction_timeout_ms: TRANSACTION_TIMEOUT_MS,
            ..InitProducerIdRequest::default()
        };
        let answer = coordinator::ask(&mut connection, &request, INIT_VERSION, |response| Some(response.error_code))?;
        let response = answer.check().with_context(|| format!("an id for {}", work.transactional_id))?.response;
        let (id, epoch) = (response.producer_id, response.producer_epoch);
        Ok(Self { connection, work, id, epoch, sequence: 0, asked_again: 0 })
    }

    /// How often a request was sent again because the transaction before was still being ended.
    pub(super) fn asked_again(&self) -> u64 {
        self.asked_again
    }

    /// One transaction from its first request to the answer to its commit.
    pub(super) fn transaction(&mut self) -> Result<()> {
        if self.work.protocol == Protocol::First {
            self.add_partition().context("AddPartitionsToTxn")?;
        }
        self.produce().context("Produce")?;
        self.commit().context("EndTxn")
    }

    fn add_partition(&mut self) -> Result<()> {
        let topic = AddPartitionsToTxnTopic { name: self.work.topic.clone(), partitions: vec![self.work.partition] };
        let request = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: self.work.transactional_id.clone(),
            v3_and_below_producer_id: self.id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..AddPartitionsToTxnRequest::default()
        };
        let answer = coordinator::ask(&mut self.connection, &request, ADD_VERSION, |response| {
            let topic = response.results_by_topic_v3_and_below.first()?;
            Some(topic.results_by_partition.first()?.partition_error_code)
        })?;
        self.asked_again += answer.check()?.asked_again;
        Ok(())
    }

    fn produce(&mut self) -> Result<()> {
        let producer =
            BatchProducer { id: self.id, epoch: self.epoch, base_sequence: self.sequence, transactional: true };
        let batch = self.work.batch.build_by(Some(producer))?;
        let data = PartitionProduceData { index: self.work.partition, records: Some(Records::from(batch)) };
        let topic = TopicProduceData {
            name: self.work.topic.clone(),
            partition_data: vec![data],
            ..TopicProduceData::default()
        };
        let request = ProduceRequest {
            transactional_id: Some(self.work.transactional_id.clone()),
            acks: -1,
            timeout_ms: 30_000,
            topic_data: vec![topic],
        };
        let version = self.work.protocol.produce_version();
        let answer = coordinator::ask(&mut self.connection, &request, version, |response| {
            Some(response.responses.first()?.partition_responses.first()?.error_code)
        })?;
        self.asked_again += answer.check()?.asked_again;
        self.sequence += i32::try_from(self.work.batch.records)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let request = EndTxnRequest {
            transactional_id: self.work.transactional_id.clone(),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed: true,
        };
        let version = self.work.protocol.end_version();
        let answer =
            coordinator::ask(&mut self.connection, &request, version, |response| Some(response.error_code))?.check()?;
        self.asked_again += answer.asked_again;
        if self.work.protocol == Protocol::Second {
            (self.id, self.epoch) = (answer.response.producer_id, answer.response.producer_epoch);
            self.sequence = 0;
        }
        Ok(())
    }
}
