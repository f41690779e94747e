//! Programs that show the limits of the system: a terminal that discards its output, and an HTTP server with a static
//! body.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::routing::get;
use bytes::Bytes;
use nix::pty::{OpenptyResult, Winsize, openpty};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::BenchResult;

/// Program in a terminal. Its output is read and discarded.
pub struct BareTerminal {
    master: File,
    child: Child,
    buffer: Vec<u8>,
}

impl BareTerminal {
    pub fn start(columns: u16, rows: u16, command: &[&str]) -> BenchResult<Self> {
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(&size, None)?;
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave))
            .spawn()?;
        Ok(Self { master: File::from(master), child, buffer: vec![0; 64 * 1024] })
    }

    pub fn write(&mut self, text: &str) -> BenchResult<()> {
        Ok(self.master.write_all(text.as_bytes())?)
    }

    /// Reads until the output ends with `marker`.
    pub fn read_until(&mut self, marker: &str) -> BenchResult<()> {
        let marker = marker.as_bytes();
        let mut tail: Vec<u8> = Vec::new();
        loop {
            let count = self.master.read(&mut self.buffer)?;
            tail.extend(&self.buffer[count.saturating_sub(marker.len())..count]);
            tail.drain(..tail.len().saturating_sub(marker.len()));
            if tail == marker {
                return Ok(());
            }
        }
    }
}

impl Drop for BareTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An axum server with a static body, in its own runtime, with the same number of worker threads as wh.
pub struct StaticServer {
    pub port: u16,
    runtime: Option<Runtime>,
}

impl StaticServer {
    pub fn start(length: usize) -> BenchResult<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let port = listener.local_addr()?.port();
        let body = Bytes::from(vec![b' '; length]);
        let json = HeaderValue::from_static("application/json");
        let router = Router::new().route("/", get(move || async move { ([(header::CONTENT_TYPE, json)], body) }));
        runtime.spawn(
            axum::serve(
                axum::serve::ListenerExt::tap_io(listener, |stream| {
                    let _ = stream.set_nodelay(true);
                }),
                router,
            )
            .into_future(),
        );
        Ok(Self { port, runtime: Some(runtime) })
    }
}

impl Drop for StaticServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
