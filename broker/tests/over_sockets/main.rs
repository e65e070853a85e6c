//! The broker as its clients meet it: started in a directory of its own, spoken to in bytes over sockets.

mod bad_frames;
mod bad_topics;
mod connections;
mod crash;
mod every_version;
mod failing_disk;
mod fetch;
mod kill_loop;
mod leader_epoch;
mod listeners;
mod overload;
mod produce;
mod refused_batches;
mod restart;
mod sequences;
mod support;
mod topics;
