//! A broker embedded in a program: `cargo run -p pillion-broker --example serve -- DIR 127.0.0.1:9092 [key=value …]`.

use pillion_broker::{Broker, BrokerConfig};

fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "data".to_owned());
    let listen = arguments.next().unwrap_or_else(|| "127.0.0.1:9092".to_owned());
    let mut config = BrokerConfig::new(directory, listen);
    for setting in arguments {
        let (key, value) = setting.split_once('=').unwrap_or((&setting, ""));
        config.set(key, value)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let broker = Broker::start(config).await?;
        println!("{}", broker.address());
        tokio::signal::ctrl_c().await?;
        Ok(broker.shutdown().await?)
    })
}
