//! Listeners: each answers with an address that its own clients can reach.

use std::sync::Arc;

use pillion_broker::{ListenerConfig, RealDisk};
use pillion_wire::messages::{DescribeClusterRequest, FindCoordinatorRequest};

use crate::support::{Client, TestBroker, config, eventually, metadata};

fn listener(name: &str, bind: &str, advertised: Option<&str>) -> ListenerConfig {
    ListenerConfig { name: name.to_owned(), bind: bind.to_owned(), advertised: advertised.map(str::to_owned) }
}

#[test]
fn each_listener_advertises_its_own_address() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let mut config = config(directory.path(), &[]);
    config.listeners = vec![
        listener("HOST", "127.0.0.1:0", None),
        listener("DOCKER", "127.0.0.1:0", Some("pillion:19092")),
        listener("NAMED", "127.0.0.1:0", Some("elsewhere")),
    ];
    let broker = TestBroker::try_start(Arc::new(RealDisk), config).expect("it starts");
    let bound = broker.addresses();
    let expected = [("127.0.0.1", bound[0].port()), ("pillion", 19_092), ("elsewhere", bound[2].port())];
    for (address, (host, port)) in bound.iter().zip(expected) {
        let mut client = Client::connect(*address);
        let told = metadata(&mut client, &[]).brokers.remove(0);
        assert_eq!((told.host.as_str(), told.port), (host, i32::from(port)));
        let told = client.call(&DescribeClusterRequest::default(), 1).brokers.remove(0);
        assert_eq!((told.host.as_str(), told.port), (host, i32::from(port)));
        let request = FindCoordinatorRequest { coordinator_keys: vec!["g".to_owned()], ..Default::default() };
        let mut told = None;
        eventually("a coordinator", || {
            let answer = client.call(&request, 4).coordinators.remove(0);
            let found = answer.error_code == 0;
            told = Some((answer.host, answer.port));
            found
        });
        assert_eq!(told, Some((host.to_owned(), i32::from(port))));
    }
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let taken = TestBroker::fresh(&[]);
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let mut config = config(directory.path(), &[]);
    config.listeners[0].bind = taken.address.to_string();
    let error = TestBroker::try_start(Arc::new(RealDisk), config).err().expect("the port is taken");
    assert!(error.to_string().contains(&taken.address.to_string()), "{error}");
}
