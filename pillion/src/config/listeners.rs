//! Listeners: where the broker binds, and what the clients of each listener are told to connect to.
//!
//! Metadata must name an address that the client can reach: kcat on the host and a service in a container reach the same
//! broker by different names, hence one advertised address per listener. Invariant: an address that means "all of them"
//! (`0.0.0.0`, `::`) is never advertised. A listener bound to all addresses advertises what it is told; untold, the
//! machine's host name if that resolves here, else 127.0.0.1, with a warning either way.

use std::net::{IpAddr, ToSocketAddrs};

use pillion_broker::ListenerConfig;

use super::layers::Setting;

/// Name of a listener given without one.
const DEFAULT_NAME: &str = "PLAINTEXT";

/// Listeners as configured, with what a person should know about them.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Listeners {
    /// At least one, in the order given.
    pub(super) listeners: Vec<ListenerConfig>,
    /// Addresses chosen for want of a better one.
    pub(super) warnings: Vec<String>,
}

/// Reads `listeners` and `advertised.listeners`. `host_name` answers the name of this machine, if it resolves.
///
/// # Errors
/// One sentence for each thing wrong.
pub(super) fn read(
    listeners: &Setting,
    advertised: Option<&Setting>,
    host_name: impl Fn() -> Option<String>,
) -> Result<Listeners, Vec<String>> {
    let mut found = Listeners::default();
    let mut problems = Vec::new();
    for text in items(&listeners.value) {
        match listener(text) {
            Ok(listener) if found.listeners.iter().any(|other| other.name == listener.name) => {
                problems.push(format!("listeners ({}): {} is there twice", listeners.origin, listener.name));
            }
            Ok(listener) => found.listeners.push(listener),
            Err(reason) => problems.push(format!("listeners ({}): {text}: {reason}", listeners.origin)),
        }
    }
    if found.listeners.is_empty() && problems.is_empty() {
        problems.push(format!("listeners ({}): name at least one", listeners.origin));
    }
    for (setting, text) in advertised.iter().flat_map(|setting| items(&setting.value).map(move |text| (setting, text)))
    {
        if let Err(reason) = advertise(&mut found.listeners, text) {
            problems.push(format!("advertised.listeners ({}): {text}: {reason}", setting.origin));
        }
    }
    for listener in found.listeners.iter_mut().filter(|listener| listener.advertised.is_none()) {
        if is_unspecified(host_of(&listener.bind)) {
            let name = host_name().unwrap_or_else(|| "127.0.0.1".to_owned());
            found.warnings.push(format!(
                "listener {} is bound to every address and advertises {name}; if clients cannot reach that, say what they can: \
                 --listener {}://{}=NAME",
                listener.name, listener.name, listener.bind
            ));
            listener.advertised = Some(name);
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

/// The name of this machine, when a look-up of it answers.
pub(super) fn resolvable_host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let resolves = (name.as_str(), 0).to_socket_addrs().is_ok_and(|mut addresses| addresses.next().is_some());
    (!name.is_empty() && resolves).then_some(name)
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// Reads `[NAME://]HOST:PORT[=ADVERTISED]`.
fn listener(text: &str) -> Result<ListenerConfig, String> {
    let (name, address) = text.split_once("://").unwrap_or((DEFAULT_NAME, text));
    check_name(name)?;
    let (bind, advertised) = match address.split_once('=') {
        Some((bind, advertised)) => (bind, Some(advertised)),
        None => (address, None),
    };
    let (host, _port) = host_and_port(bind).ok_or("expected HOST:PORT, port 0 picks a free one")?;
    // Kafka takes a missing host for every address.
    let bind = if host.is_empty() { format!("0.0.0.0{bind}") } else { bind.to_owned() };
    advertised.map(check_advertised).transpose()?;
    Ok(ListenerConfig { name: name.to_owned(), bind, advertised: advertised.map(str::to_owned) })
}

/// Reads `NAME://HOST[:PORT]` and gives it to the listener of that name.
fn advertise(listeners: &mut [ListenerConfig], text: &str) -> Result<(), String> {
    let (name, address) = text.split_once("://").unwrap_or((DEFAULT_NAME, text));
    check_advertised(address)?;
    let listener = listeners.iter_mut().find(|listener| listener.name == name);
    let listener = listener.ok_or_else(|| format!("there is no listener {name}"))?;
    listener.advertised = Some(address.to_owned());
    Ok(())
}

fn check_name(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if !is_name {
        return Err("a listener's name is made of A-Z, 0-9 and _".to_owned());
    }
    // Kafka reads these names as protocols: taking them for plain text would promise what is not there.
    if name == "SSL" || name.starts_with("SASL_") {
        return Err(format!("{name} listeners are not supported: listeners speak plain text"));
    }
    Ok(())
}

fn check_advertised(address: &str) -> Result<(), String> {
    let host = host_of(address);
    if host.is_empty() || is_unspecified(host) {
        return Err(format!("`{address}` cannot be advertised, clients could not connect to it: name a host"));
    }
    let has_port = address.len() > host.len() && !address.ends_with(']');
    if has_port && host_and_port(address).is_none_or(|(_, port)| port == 0) {
        return Err(format!(
            "`{address}` cannot be advertised: expected HOST or HOST:PORT with a port from 1 to 65535"
        ));
    }
    Ok(())
}

/// The host of `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`, without brackets taken off an IPv6 address.
fn host_of(address: &str) -> &str {
    match address.rfind(']') {
        Some(end) => &address[..=end],
        None => address.split_once(':').map_or(address, |(host, _)| host),
    }
}

fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let host = host_of(address);
    let port = address[host.len()..].strip_prefix(':')?.parse().ok()?;
    Some((host, port))
}

fn is_unspecified(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_unspecified())
}

#[cfg(test)]
mod tests;
