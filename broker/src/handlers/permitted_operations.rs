//! What a client may do, as answers tell it: bits of Kafka's `AclOperation`.
//!
//! Without an authorizer everyone may do everything that there is to do.

const READ: i32 = 1 << 3;
const WRITE: i32 = 1 << 4;
const CREATE: i32 = 1 << 5;
const DELETE: i32 = 1 << 6;
const ALTER: i32 = 1 << 7;
const DESCRIBE: i32 = 1 << 8;
const CLUSTER_ACTION: i32 = 1 << 9;
const DESCRIBE_CONFIGS: i32 = 1 << 10;
const ALTER_CONFIGS: i32 = 1 << 11;
const IDEMPOTENT_WRITE: i32 = 1 << 12;

/// On a topic.
pub(super) const ON_TOPIC: i32 = READ | WRITE | CREATE | DELETE | ALTER | DESCRIBE | DESCRIBE_CONFIGS | ALTER_CONFIGS;

/// On the cluster.
pub(super) const ON_CLUSTER: i32 =
    CREATE | ALTER | DESCRIBE | CLUSTER_ACTION | DESCRIBE_CONFIGS | ALTER_CONFIGS | IDEMPOTENT_WRITE;

/// What stands where nobody asked.
pub(super) const NOT_ASKED: i32 = i32::MIN;
