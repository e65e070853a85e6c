//! The coordinator with partitions on a disk that loses power, refuses writes, or does not sync for a while.

mod failing_disks;
mod node;
mod power_cuts;
mod races;
mod taking_over;
