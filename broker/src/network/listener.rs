//! A listener: its sockets, and the address its clients are told.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use crate::broker::BrokerState;
use crate::config::ListenerConfig;

/// How long to wait when the process has no descriptor left for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A name and the address that metadata gives for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) advertised_host: String,
    pub(crate) advertised_port: u16,
    /// Where it is bound.
    pub(crate) bound: SocketAddr,
}

/// A bound listener, not serving yet.
pub(crate) struct BoundListener {
    pub(crate) listener: Arc<Listener>,
    sockets: Vec<TcpListener>,
}

impl BoundListener {
    /// Binds every address of the listener's host, all at one port.
    ///
    /// # Errors
    /// What the operating system answers.
    pub(crate) async fn bind(config: &ListenerConfig, send_buffer_bytes: Option<usize>) -> io::Result<Self> {
        let mut addresses: Vec<SocketAddr> = lookup_host(&config.bind).await?.collect();
        addresses.sort_by_key(SocketAddr::is_ipv6);
        addresses.dedup();
        let mut sockets: Vec<TcpListener> = Vec::new();
        for mut address in addresses {
            // localhost may be both 127.0.0.1 and ::1; the port that the first one got is the listener's.
            if let Some(first) = sockets.first() {
                address.set_port(first.local_addr()?.port());
            }
            match TcpListener::bind(address).await {
                Ok(socket) => sockets.push(socket),
                // A machine without IPv6 still resolves localhost to ::1.
                Err(error) if !sockets.is_empty() && error.kind() == io::ErrorKind::AddrNotAvailable => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(bytes) = send_buffer_bytes {
            // Accepted sockets inherit it.
            sockets.iter().try_for_each(|socket| sockopt::set_socket_send_buffer_size(socket, bytes))?;
        }
        let Some(first) = sockets.first() else { return Err(io::ErrorKind::AddrNotAvailable.into()) };
        let bound = first.local_addr()?;
        let (advertised_host, advertised_port) = advertised(config, bound);
        let listener = Listener { name: config.name.clone(), advertised_host, advertised_port, bound };
        Ok(Self { listener: Arc::new(listener), sockets })
    }

    /// Accepts connections until `stop`, each a task of `connections`.
    pub(crate) fn serve(
        self,
        broker: &Arc<BrokerState>,
        limits: &Arc<ConnectionLimits>,
        connections: &TaskTracker,
        stop: &CancellationToken,
    ) {
        for socket in self.sockets {
            let accept = Accept {
                broker: Arc::clone(broker),
                listener: Arc::clone(&self.listener),
                limits: Arc::clone(limits),
                connections: connections.clone(),
                stop: stop.clone(),
            };
            connections.spawn(accept.run(socket));
        }
    }
}

/// The host and port that clients are told: what the operator said, else what is bound, never a wildcard.
fn advertised(config: &ListenerConfig, bound: SocketAddr) -> (String, u16) {
    let told = config.advertised.as_deref().unwrap_or(&config.bind);
    let (host, port) = match told.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => (host, port.parse().unwrap_or(0)),
        _ => (told, 0),
    };
    let port = if config.advertised.is_some() && port != 0 { port } else { bound.port() };
    let host = unbracket(host);
    if !host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified()) {
        return (host, port);
    }
    let host = hostname();
    tracing::warn!(
        listener = config.name,
        advertised = host,
        "no client can connect to every address, so they are told this machine's name; say NAME://{}=HOST to tell them another",
        config.bind
    );
    (host, port)
}

fn unbracket(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_owned()
}

fn hostname() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

struct Accept {
    broker: Arc<BrokerState>,
    listener: Arc<Listener>,
    limits: Arc<ConnectionLimits>,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl Accept {
    async fn run(self, socket: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(&self, stream: TcpStream, peer: SocketAddr) {
        let settings = self.broker.settings.in_force();
        let config = settings.config();
        let maxima = (config.connections_max, config.connections_per_address_max);
        let Some(place) = ConnectionLimits::admit(&self.limits, peer.ip(), maxima) else {
            self.broker.metrics.connections_refused.add(1);
            tracing::warn!(%peer, "refusing a connection: max.connections or max.connections.per.ip is reached");
            return;
        };
        // Answers are small and waited for.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "connection was gone at once");
            return;
        }
        let connection = Connection::new(Arc::clone(&self.broker), Arc::clone(&self.listener), stream, peer);
        let (stop, metrics) = (self.stop.clone(), Arc::clone(&self.broker.metrics));
        metrics.connections_opened.add(1);
        self.connections.spawn(async move {
            connection.run(stop).await;
            metrics.connections_closed.add(1);
            drop(place);
        });
    }
}

/// Counts connections, in all and by address.
#[derive(Default)]
pub(crate) struct ConnectionLimits {
    counts: Mutex<(usize, HashMap<IpAddr, usize>)>,
}

/// A connection's place among those allowed; given back when dropped.
pub(crate) struct Place {
    limits: Arc<ConnectionLimits>,
    address: IpAddr,
}

impl ConnectionLimits {
    /// A place for a connection from an address, unless there are as many as there may be: in all, and from there.
    fn admit(this: &Arc<Self>, address: IpAddr, (connections_max, per_address_max): (usize, usize)) -> Option<Place> {
        let mut counts = this.counts.lock();
        let (all, by_address) = &mut *counts;
        let of_address = by_address.get(&address).copied().unwrap_or(0);
        if *all >= connections_max || of_address >= per_address_max {
            return None;
        }
        *all += 1;
        by_address.insert(address, of_address + 1);
        Some(Place { limits: Arc::clone(this), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.limits.counts.lock();
        counts.0 -= 1;
        if let Some(count) = counts.1.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.1.remove(&self.address);
            }
        }
    }
}
