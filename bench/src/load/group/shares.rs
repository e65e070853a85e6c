//! What a group's leader hands out: equal shares of a topic's partitions that move as few of them as can be. Pure.

use std::collections::BTreeSet;

/// A member, or its share: its id with partitions in rising order.
pub(super) type Share = (String, Vec<i32>);

/// Shares out partitions 0 to `partitions` among members, each given with what it holds. Members keep what they hold up
/// to their share. With `withhold`, a partition that another member still holds goes to nobody: its holder must let it
/// go first, and the next generation hands it out (KIP-429).
pub(super) fn share_out(partitions: i32, mut members: Vec<Share>, withhold: bool) -> Vec<Share> {
    members.sort();
    let count = partitions.unsigned_abs() as usize;
    let (least, mut extra) = (count / members.len().max(1), count % members.len().max(1));
    let mut free: BTreeSet<i32> = (0..partitions).collect();
    let mut held = BTreeSet::new();
    // Those who hold more than the least keep one of the extra partitions.
    for (_, owned) in &mut members {
        owned.retain(|partition| free.contains(partition) && held.insert(*partition));
        let more = usize::from(owned.len() > least && extra > 0);
        extra -= more;
        owned.truncate(least + more);
        owned.iter().for_each(|partition| {
            free.remove(partition);
        });
    }
    let mut free = free.into_iter();
    for (_, owned) in &mut members {
        let more = usize::from(owned.len() <= least && extra > 0);
        extra -= more;
        let room = (least + more).saturating_sub(owned.len());
        // A partition that is withheld still counts for the share that it is going to be part of.
        owned.extend(free.by_ref().take(room).filter(|partition| !withhold || !held.contains(partition)));
        owned.sort_unstable();
    }
    members
}

#[cfg(test)]
mod tests;
