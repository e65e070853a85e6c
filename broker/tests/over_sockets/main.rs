//! The broker as its clients meet it: started in a directory of its own, spoken to in bytes over sockets.

mod amplification;
mod bad_bodies;
mod bad_frames;
mod bad_topics;
mod broker_settings;
mod cold_reads;
mod configs;
mod connections;
mod crash;
mod damage;
mod delete_records;
mod deleted_under_readers;
#[path = "../../../wire/tests/every_message/mod.rs"]
mod every_message;
mod every_version;
mod failing_disk;
mod fetch;
mod fetch_sessions;
mod forced_shutdown;
mod full_disk_administration;
mod kafka_directory;
#[path = "../fixtures/kafka.rs"]
mod kafka_fixture;
mod kill_loop;
mod leader_epoch;
mod list_offsets;
mod listeners;
mod log_life;
mod observed;
mod one_node;
mod overload;
mod partitions_added;
mod produce;
mod refused_batches;
mod restart;
mod sequences;
mod stored_batches;
mod support;
mod topic_changes;
mod topic_pages;
mod topics;
