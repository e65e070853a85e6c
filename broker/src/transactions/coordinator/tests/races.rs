//! Appends against markers, on several threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::super::event::Protocol;
use super::node::Node;
use crate::disk::SimulatedDisk;

#[tokio::test(flavor = "multi_thread")]
async fn an_abort_that_races_with_an_append_leaves_no_transaction_open() {
    for protocol in [Protocol::Classic, Protocol::EpochBump] {
        let disk = SimulatedDisk::new();
        let node = Arc::new(Node::start(&disk, 0).await);
        for round in 0..60 {
            let producer = node.init().await;
            node.add(producer, protocol, 0..3).await.expect("adds");
            let is_over = Arc::new(AtomicBool::new(false));
            let (writing, over) = (Arc::clone(&node), Arc::clone(&is_over));
            let writer = tokio::task::spawn_blocking(move || {
                let (mut sequences, mut written) = ([0; 3], 0);
                for index in (0..3).cycle() {
                    let is_last = over.load(Ordering::Acquire);
                    match writing.append(producer, index, sequences[index as usize], round) {
                        Ok(_) => (sequences[index as usize], written) = (sequences[index as usize] + 1, written + 1),
                        // Its sequence begins anew in a partition that had its marker: of a replaced producer.
                        Err(_) if is_last => return written,
                        Err(_) => {}
                    }
                    assert!(!is_last || written < 1_000_000, "a replaced producer goes on writing");
                }
                written
            });
            // Another takes over, which aborts what is open, while the first still writes.
            let successor = node.init().await;
            is_over.store(true, Ordering::Release);
            writer.await.expect("ends");
            assert_eq!(successor.epoch, producer.epoch + 2);
            node.until_stable("after the abort").await;
        }
        assert!((0..3).all(|index| node.committed(index).is_empty()), "nothing was committed");
        node.end();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_races_with_an_append_leaves_no_transaction_open() {
    for protocol in [Protocol::Classic, Protocol::EpochBump] {
        let disk = SimulatedDisk::new();
        let node = Arc::new(Node::start(&disk, 0).await);
        let mut producer = node.init().await;
        let mut sequences = [0; 3];
        for round in 0..60 {
            node.add(producer, protocol, 0..3).await.expect("adds");
            let is_over = Arc::new(AtomicBool::new(false));
            let (writing, over, before) = (Arc::clone(&node), Arc::clone(&is_over), (producer, sequences));
            let writer = tokio::task::spawn_blocking(move || {
                let (producer, mut sequences) = before;
                for index in (0..3_usize).cycle() {
                    if writing.append(producer, index as i32, sequences[index], round).is_ok() {
                        sequences[index] += 1;
                    }
                    if over.load(Ordering::Acquire) {
                        return sequences;
                    }
                }
                sequences
            });
            let ended = node.end_transaction(producer, protocol, true).await;
            is_over.store(true, Ordering::Release);
            let after = writer.await.expect("ends");
            let Ok(super::super::super::action::Answer::Producer(next)) = ended else { panic!("{ended:?}") };
            sequences = if next == producer { after } else { [0; 3] };
            producer = next;
            node.until_stable("after the commit").await;
        }
        node.end();
    }
}
