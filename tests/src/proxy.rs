//! A TCP proxy as a failpoint: it stands in front of a broker or of Postgres and loses, holds or cuts what passes.
//!
//! In front of a broker it reads Kafka's frames, so that a trap springs at the n-th request of one API; nothing in the
//! programs under test knows of it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// Kafka's number of EndTxn.
pub const END_TXN: i16 = 26;
/// Bytes of a frame that are looked at: API key, version, correlation id.
const HEAD: usize = 8;

/// What happens to a request that springs a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is kept, and with it all that follows on its connection, until the trap is released.
    Hold,
    /// It passes, and its answer and all that follow it are lost.
    LoseAnswer,
}

/// A trap that was set.
#[derive(Debug, Clone)]
pub struct Trap {
    api: i16,
    /// Requests of the API that are still to pass.
    left: usize,
    fault: Fault,
    sprung: Arc<Notify>,
    released: Arc<Notify>,
}

impl Trap {
    /// Waits until it has sprung: the request is held, or its answer has come and was lost.
    pub async fn sprung(&self) {
        self.sprung.notified().await;
    }

    /// Lets a held request pass.
    pub fn release(&self) {
        self.released.notify_one();
    }
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<SocketAddr>,
    reads_frames: bool,
    traps: Mutex<Vec<Trap>>,
    /// Goes up when connections are to be cut.
    cuts: watch::Sender<u64>,
    /// Whether connections are taken.
    is_open: watch::Sender<bool>,
    /// Whether what clients send is kept.
    holds_requests: watch::Sender<bool>,
    /// Whether what the server sends is kept.
    holds_answers: watch::Sender<bool>,
}

/// A running proxy; it ends with the test's runtime.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// In front of a broker.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn kafka(upstream: SocketAddr) -> Result<Self> {
        Self::start(upstream, true).await
    }

    /// In front of anything: bytes are not looked at, traps never spring.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn raw(upstream: SocketAddr) -> Result<Self> {
        Self::start(upstream, false).await
    }

    async fn start(upstream: SocketAddr, reads_frames: bool) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let shared = Arc::new(Shared {
            upstream: Mutex::new(upstream),
            reads_frames,
            traps: Mutex::default(),
            cuts: watch::Sender::new(0),
            is_open: watch::Sender::new(true),
            holds_requests: watch::Sender::new(false),
            holds_answers: watch::Sender::new(false),
        });
        let proxy = Self { address: listener.local_addr()?, shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&shared).serve(client));
            }
        });
        Ok(proxy)
    }

    /// Where it answers.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets a trap for the `nth` request of this API from now on, counted from 1 over all connections.
    pub fn trap(&self, api: i16, nth: usize, fault: Fault) -> Trap {
        let trap = Trap { api, left: nth - 1, fault, sprung: Arc::default(), released: Arc::default() };
        lock(&self.shared.traps).push(trap.clone());
        trap
    }

    /// Takes away the traps that have not sprung.
    pub fn forget_traps(&self) {
        lock(&self.shared.traps).clear();
    }

    /// Cuts every connection.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Takes connections, or refuses new ones and cuts those there are.
    pub fn set_open(&self, is_open: bool) {
        self.shared.is_open.send_replace(is_open);
        if !is_open {
            self.cut();
        }
    }

    /// Keeps what clients send, or lets it pass.
    pub fn hold_requests(&self, holds: bool) {
        self.shared.holds_requests.send_replace(holds);
    }

    /// Keeps what the server sends, or lets it pass.
    pub fn hold_answers(&self, holds: bool) {
        self.shared.holds_answers.send_replace(holds);
    }
}

/// Correlation ids of one connection whose answers are to be lost, each with its trap.
type Lost = Mutex<Vec<(i32, Trap)>>;

impl Shared {
    async fn serve(self: Arc<Self>, client: TcpStream) {
        if !*self.is_open.borrow() {
            return;
        }
        let mut cuts = self.cuts.subscribe();
        let upstream = *lock(&self.upstream);
        let Ok(server) = TcpStream::connect(upstream).await else { return };
        if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
            return;
        }
        let (client_read, client_write) = client.into_split();
        let (server_read, server_write) = server.into_split();
        let lost = Lost::default();
        tokio::select! {
            _ = cuts.changed() => {}
            _ = self.requests(client_read, server_write, &lost) => {}
            _ = self.answers(server_read, client_write, &lost) => {}
        }
    }

    async fn requests(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, lost: &Lost) -> std::io::Result<()> {
        let mut held = self.holds_requests.subscribe();
        loop {
            let bytes = self.next(&mut from).await?;
            let trap = if self.reads_frames { self.sprung(&bytes) } else { None };
            if let Some(trap) = trap {
                match trap.fault {
                    Fault::Hold => {
                        trap.sprung.notify_one();
                        trap.released.notified().await;
                    }
                    Fault::LoseAnswer => lock(lost).push((correlation_id(&bytes[8..]), trap)),
                }
            }
            let _ = held.wait_for(|held| !held).await;
            to.write_all(&bytes).await?;
        }
    }

    async fn answers(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, lost: &Lost) -> std::io::Result<()> {
        let mut held = self.holds_answers.subscribe();
        loop {
            let bytes = self.next(&mut from).await?;
            let trap = if self.reads_frames { take(lost, correlation_id(&bytes[4..])) } else { None };
            if let Some(trap) = trap {
                trap.sprung.notify_one();
                std::future::pending::<()>().await;
            }
            let _ = held.wait_for(|held| !held).await;
            to.write_all(&bytes).await?;
        }
    }

    /// The next frame with its length in front, or whatever comes next.
    async fn next(&self, from: &mut OwnedReadHalf) -> std::io::Result<Vec<u8>> {
        if !self.reads_frames {
            let mut bytes = vec![0; 64 << 10];
            let length = from.read(&mut bytes).await?;
            bytes.truncate(length);
            return if length == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) };
        }
        let mut length = [0; 4];
        from.read_exact(&mut length).await?;
        let mut frame = length.to_vec();
        let length = u64::from(u32::from_be_bytes(length));
        (&mut *from).take(length).read_to_end(&mut frame).await?;
        if frame.len() < 4 + HEAD.min(length as usize) {
            Err(std::io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(frame)
        }
    }

    /// The trap that this request springs.
    fn sprung(&self, frame: &[u8]) -> Option<Trap> {
        let api = i16::from_be_bytes(frame.get(4..6)?.try_into().ok()?);
        let mut traps = lock(&self.traps);
        let mut sprung = None;
        for (index, trap) in traps.iter_mut().enumerate().filter(|(_, trap)| trap.api == api) {
            match trap.left.checked_sub(1) {
                Some(left) => trap.left = left,
                None => sprung = sprung.or(Some(index)),
            }
        }
        sprung.map(|index| traps.remove(index))
    }
}

fn correlation_id(bytes: &[u8]) -> i32 {
    bytes.get(..4).and_then(|bytes| bytes.try_into().ok()).map_or(-1, i32::from_be_bytes)
}

fn take(lost: &Lost, correlation_id: i32) -> Option<Trap> {
    let mut lost = lock(lost);
    let index = lost.iter().position(|(id, _)| *id == correlation_id)?;
    Some(lost.remove(index).1)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
