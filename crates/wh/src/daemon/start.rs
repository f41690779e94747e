//! Starts a daemon in the background. The new process reports on a pipe that it is ready or that it failed.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{DaemonFile, DaemonPaths, receive_with_notice};
use crate::failure::{CliFailure, code};

/// Timeout for a daemon to become ready. The daemon first checks its store, which may be large.
const DAEMON_START_TIMEOUT: Duration = Duration::from_secs(122);

fn failed(error: impl std::fmt::Display) -> CliFailure {
    CliFailure::new(code::FAILED, format!("cannot start the daemon: {error}"))
}

impl DaemonPaths {
    /// Starts a daemon in the background and waits until it accepts connections.
    pub fn start(&self, arguments: &[String]) -> Result<DaemonFile, CliFailure> {
        let path = self.log();
        let cannot_log = |error| failed(format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let log = options.append(true).create(true).mode(0o600).open(&path).map_err(cannot_log)?;
        let written = log.metadata().map_err(cannot_log)?.len();
        let own = std::env::current_exe().map_err(failed)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the daemon outlives this process, which is not a child subreaper"
        )]
        let mut child = Command::new(own)
            .args(["daemon", "start", "--foreground", "--background"])
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let (report, reported) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut line = String::new();
                // The line stays empty if the process exits without a report.
                let _ = BufReader::new(out).read_line(&mut line);
                let _ = report.send(line);
            });
        }
        let notice = format!("still waiting for the daemon to start (process {})", child.id());
        let Ok(line) = receive_with_notice(&reported, DAEMON_START_TIMEOUT, &notice) else {
            let limit = DAEMON_START_TIMEOUT.as_secs();
            return Err(failed(format!("process {} is not ready after {limit} s", child.id())).hint(format!(
                "the log of the daemon is {}; end the process with: kill {}",
                path.display(),
                child.id()
            )));
        };
        if let Ok(daemon) = serde_json::from_str(&line) {
            return Ok(daemon);
        }
        let status = child.wait().map_err(failed)?;
        if let Some(failure) = CliFailure::read(&line) {
            return Err(failure);
        }
        Err(failed(early_exit(&path, written, status)).hint(format!("the log of the daemon is {}", path.display())))
    }
}

/// Describes a daemon that exited without a report: the last line of the daemon's log, and the exit status.
fn early_exit(log: &Path, from: u64, status: ExitStatus) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut text)
    });
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with(' '));
    match last.filter(|_| read.is_ok()) {
        Some(line) => format!("{} ({status})", line.strip_prefix("wh: ").unwrap_or(line)),
        None => format!("the process exited during startup ({status}) without a log message"),
    }
}
