//! Starting a daemon in the background: it reports on a pipe that it is ready, or why it is not.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{DaemonFile, Place, receive_with_notice};
use crate::failure::{Failure, code};

/// Limit for a daemon to be ready. It checks its store first, which may be large.
const LONGEST_START: Duration = Duration::from_secs(122);

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(code::FAILED, format!("cannot start the daemon: {error}"))
}

impl Place {
    /// Starts a daemon in the background, and waits until it can be asked.
    pub fn start(&self, arguments: &[String]) -> Result<DaemonFile, Failure> {
        let path = self.log();
        let cannot_log = |error| failed(format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let log = options.append(true).create(true).mode(0o600).open(&path).map_err(cannot_log)?;
        let written = log.metadata().map_err(cannot_log)?.len();
        let own = std::env::current_exe().map_err(failed)?;
        #[expect(clippy::disallowed_methods, reason = "the daemon outlives this process, which is no child subreaper")]
        let mut child = Command::new(own)
            .args(["daemon", "start", "--foreground", "--background"])
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let (tell, told) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut line = String::new();
                // One line, or none if it ends.
                let _ = BufReader::new(out).read_line(&mut line);
                let _ = tell.send(line);
            });
        }
        let notice = format!("still waiting for the daemon to start (process {})", child.id());
        let Ok(line) = receive_with_notice(&told, LONGEST_START, &notice) else {
            let limit = LONGEST_START.as_secs();
            return Err(failed(format!("process {} is not ready after {limit} s", child.id())).hint(format!(
                "its log is {}; kill {} ends it",
                path.display(),
                child.id()
            )));
        };
        if let Ok(daemon) = serde_json::from_str(&line) {
            return Ok(daemon);
        }
        let status = child.wait().map_err(failed)?;
        if let Some(failure) = Failure::read(&line) {
            return Err(failure);
        }
        Err(failed(last_words(&path, written, status)).hint(format!("its log is {}", path.display())))
    }
}

/// The end of a daemon that has reported nothing: the last line that it has logged, and how it ended.
fn last_words(log: &Path, from: u64, status: ExitStatus) -> String {
    let mut text = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut text)
    });
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with(' '));
    match last.filter(|_| read.is_ok()) {
        Some(line) => format!("{} ({status})", line.strip_prefix("wh: ").unwrap_or(line)),
        None => format!("it ended during the start ({status}) and has logged nothing"),
    }
}
