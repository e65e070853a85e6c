//! Asks whether the service beside it is well: exit code 0 if `GET /healthz` at `HTTP_LISTEN` answers 200. For the health
//! checks of containers whose image has no other program that could ask.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

/// For each of connecting, sending and reading.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks, and says why not.
pub(crate) fn main() -> ExitCode {
    let listen = std::env::var("HTTP_LISTEN").unwrap_or_default();
    match ask(&listen) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("HTTP_LISTEN={listen}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn ask(listen: &str) -> std::io::Result<bool> {
    let mut address: SocketAddr = listen.parse().map_err(std::io::Error::other)?;
    // Every address is also this machine's own.
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
    let mut status = [0; 12]; // `HTTP/1.0 200`
    stream.read_exact(&mut status)?;
    Ok(status.ends_with(b" 200"))
}
