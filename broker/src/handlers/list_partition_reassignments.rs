//! ListPartitionReassignments (46), version 0: partitions on their way to other nodes: none, on one node.

use pillion_wire::messages::{ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};

use crate::dispatch::{Call, Flow};

/// Answers.
pub(crate) fn handle(call: Call, _request: ListPartitionReassignmentsRequest) -> Flow {
    call.answer(&ListPartitionReassignmentsResponse { error_message: None, ..Default::default() })
}
