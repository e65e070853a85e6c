//! How far a group has read, partition by partition, and how far it is behind.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use pillion_client::{Admin, AdminError, CommittedOffset, ErrorCode, GroupDescription, GroupMember, Offset};

/// A group's members, and what it has read.
pub(crate) struct GroupLag {
    /// State and members.
    pub(crate) group: GroupDescription,
    /// Whether the coordinator tells members only by the newer protocol (KIP-848): there are none in `group` then.
    pub(crate) are_members_hidden: bool,
    /// In the order of topics and partitions: all that is committed or assigned.
    pub(crate) partitions: Vec<PartitionLag>,
}

/// One partition that a group has committed or that a member reads.
pub(crate) struct PartitionLag {
    /// The topic's name.
    pub(crate) topic: String,
    /// The partition's number.
    pub(crate) partition: i32,
    /// What is committed, if anything is.
    pub(crate) committed: Option<CommittedOffset>,
    /// The log start offset; `None` when the topic is gone.
    pub(crate) start: Option<i64>,
    /// The high watermark; `None` when the topic is gone.
    pub(crate) end: Option<i64>,
    /// Whose it is: a place in the group's members.
    pub(crate) member: Option<usize>,
}

impl PartitionLag {
    /// Records committed to be read still; `None` when nothing is committed or the topic is gone.
    pub(crate) fn lag(&self) -> Option<i64> {
        Some((self.end? - self.committed.as_ref()?.offset).max(0))
    }
}

impl GroupLag {
    /// Over all partitions.
    pub(crate) fn total(&self) -> i64 {
        self.partitions.iter().filter_map(PartitionLag::lag).sum()
    }

    /// A member, if the partition has one.
    pub(crate) fn member_of(&self, partition: &PartitionLag) -> Option<&GroupMember> {
        self.group.members.get(partition.member?)
    }
}

/// Asks for all of it.
///
/// # Errors
/// When there is no such group, or the cluster does not answer.
pub(crate) async fn lag_of(admin: &Admin, group_id: &str) -> Result<GroupLag> {
    let (group, are_members_hidden) = described(admin, group_id).await?;
    let committed = admin.group_offsets(group_id).await?;
    if group.state == "Dead" && group.members.is_empty() && committed.is_empty() {
        bail!("there is no group {group_id}; `pillion group list` shows those there are");
    }
    let mut found: BTreeMap<(String, i32), PartitionLag> = BTreeMap::new();
    let entry = |topic: &str, partition| PartitionLag {
        topic: topic.to_owned(),
        partition,
        committed: None,
        start: None,
        end: None,
        member: None,
    };
    for offset in committed {
        let place = (offset.topic.clone(), offset.partition);
        let one = found.entry(place).or_insert_with(|| entry(&offset.topic, offset.partition));
        one.committed = Some(offset);
    }
    for (index, member) in group.members.iter().enumerate() {
        for held in &member.assigned {
            let place = (held.topic.clone(), held.partition);
            found.entry(place).or_insert_with(|| entry(&held.topic, held.partition)).member = Some(index);
        }
    }
    let mut partitions: Vec<PartitionLag> = found.into_values().collect();
    add_logs(admin, &mut partitions).await?;
    Ok(GroupLag { group, are_members_hidden, partitions })
}

/// State and members; of a group of the newer protocol (KIP-848), what the list of groups tells.
async fn described(admin: &Admin, group_id: &str) -> Result<(GroupDescription, bool)> {
    let error = match admin.describe_group(group_id).await {
        Ok(group) => return Ok((group, false)),
        Err(error) => error,
    };
    if error.error_code() != Some(ErrorCode::GroupIdNotFound) {
        return Err(error.into());
    }
    let listed = admin.list_groups().await?.into_iter().find(|listed| listed.group_id == group_id);
    let listed =
        listed.with_context(|| format!("there is no group {group_id}; `pillion group list` shows those there are"))?;
    let group = GroupDescription {
        group_id: listed.group_id,
        state: listed.state,
        protocol_type: listed.protocol_type,
        protocol: listed.kind,
        coordinator: listed.coordinator,
        members: Vec::new(),
    };
    Ok((group, true))
}

/// Where the logs begin and end; a topic that is gone has neither.
async fn add_logs(admin: &Admin, partitions: &mut [PartitionLag]) -> Result<()> {
    let mut logs: BTreeMap<String, Option<Bounds>> = BTreeMap::new();
    for partition in partitions {
        if !logs.contains_key(&partition.topic) {
            let bounds = bounds(admin, &partition.topic).await?;
            logs.insert(partition.topic.clone(), bounds);
        }
        let Some(Some(Bounds { starts, ends })) = logs.get(&partition.topic) else { continue };
        let at = |offsets: &[Option<i64>]| *usize::try_from(partition.partition).ok().and_then(|at| offsets.get(at))?;
        (partition.start, partition.end) = (at(starts), at(ends));
    }
    Ok(())
}

/// Log start offsets and high watermarks of a topic's partitions.
struct Bounds {
    starts: Vec<Option<i64>>,
    ends: Vec<Option<i64>>,
}

/// Those of a topic; `None` when it is gone.
async fn bounds(admin: &Admin, topic: &str) -> Result<Option<Bounds>, AdminError> {
    let is_gone = |code: Option<ErrorCode>| code == Some(ErrorCode::UnknownTopicOrPartition);
    match admin.describe_topics(&[topic.to_owned()]).await {
        Ok(_) => {}
        Err(error) if is_gone(error.error_code()) => return Ok(None),
        Err(error) => return Err(error),
    }
    let offsets = |listed: Vec<pillion_client::ListedOffset>| listed.into_iter().map(|one| one.offset).collect();
    let starts = admin.list_offsets(topic, Offset::Earliest).await?;
    let ends = admin.list_offsets(topic, Offset::Latest).await?;
    Ok(Some(Bounds { starts: offsets(starts), ends: offsets(ends) }))
}
