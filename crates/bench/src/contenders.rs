//! Common interface to wh and tmux. Both run the same program on a screen of the same size.

use std::time::{Duration, Instant};

use bytes::Bytes;
use memchr::memmem;
use wh_api::{HttpRequest, blocking};
use wh_testkit::{Tmux, Wh};

use crate::content::{COLUMNS, ROWS};
use crate::tmux::TmuxControl;
use crate::{BenchConfig, BenchResult, client, process};

/// Timeout for waiting until the screen shows a text.
const SHOWN_TIMEOUT: Duration = Duration::from_secs(120);

/// Timeout for the exit status of a wh process that does not respond.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// A terminal emulator that accepts input and returns snapshots of its screen.
pub trait Contender {
    /// Types a text into the program.
    fn type_in(&mut self, text: &str) -> BenchResult<()>;

    /// Returns the current screen with its colours.
    fn snapshot(&mut self) -> BenchResult<&[u8]>;

    /// Takes snapshots, with a delay of `between`, until the screen contains the text.
    fn wait_for_text(&mut self, text: &str, between: Duration) -> BenchResult<()> {
        self.wait_for_count(text, 1, between)
    }

    /// Counts the occurrences of the text in a snapshot. A snapshot can contain the screen in several formats, so a
    /// text that is visible once may be counted more than once.
    fn count(&mut self, text: &str) -> BenchResult<usize> {
        Ok(memmem::find_iter(self.snapshot()?, text.as_bytes()).count())
    }

    /// Takes snapshots until one contains the text at least `times` times.
    fn wait_for_count(&mut self, text: &str, times: usize, between: Duration) -> BenchResult<()> {
        let start = Instant::now();
        while memmem::find_iter(self.snapshot()?, text.as_bytes()).take(times).count() < times {
            if start.elapsed() > SHOWN_TIMEOUT {
                return Err(format!("{text:?} did not appear on the screen within {SHOWN_TIMEOUT:?}").into());
            }
            if !between.is_zero() {
                std::thread::sleep(between);
            }
        }
        Ok(())
    }
}

/// wh, controlled over one HTTP connection.
pub struct WhContender {
    wh: Wh,
    client: blocking::Client,
    screen_request: HttpRequest,
    shown: Bytes,
}

impl WhContender {
    pub fn start(config: &BenchConfig, history: u32, command: &[&str]) -> BenchResult<Self> {
        let (size, history) = (format!("{COLUMNS}x{ROWS}"), history.to_string());
        let mut arguments = vec!["--"];
        arguments.extend(command);
        let wh = Wh::options(&config.wh).flags(&["--size", &size, "--scrollback", &history]).start(&arguments);
        Self::of(wh)
    }

    /// Connects to a running wh.
    pub fn of(wh: Wh) -> BenchResult<Self> {
        let client = client::of(&wh)?;
        Ok(Self { wh, client, screen_request: Self::screen_request(), shown: Bytes::new() })
    }

    pub fn wh(&self) -> &Wh {
        &self.wh
    }

    /// Sends a POST request with a JSON body. Fails unless the status is 200.
    pub fn post(&mut self, path: &str, json: &str) -> BenchResult<()> {
        self.ask(&HttpRequest::new("POST", path).body(json.to_owned())).map(drop)
    }

    /// Sends a request. If wh has exited, the error contains the exit status and stderr of wh.
    fn ask(&mut self, request: &HttpRequest) -> BenchResult<Bytes> {
        client::ask(&self.client, request).map_err(|error| match self.wh.ended(EXIT_STATUS_TIMEOUT) {
            Some(status) => format!("{error}\nwh exited with {status}; its stderr: {}", self.wh.stderr()).into(),
            None => error,
        })
    }

    /// Presses the key with this name, for example `enter`.
    pub fn press(&mut self, key: &str) -> BenchResult<()> {
        self.post("/control/send_input", &format!("{{\"key\":\"{key}\"}}"))
    }

    /// Returns the request for the current screen. As with tmux, the snapshot does not wait for the end of a frame.
    fn screen_request() -> HttpRequest {
        HttpRequest::get("/control/screen?now=1")
    }

    /// Opens another connection for snapshots of the same screen.
    pub fn snapshot_client(&self) -> BenchResult<(blocking::Client, HttpRequest)> {
        Ok((client::of(&self.wh)?, Self::screen_request()))
    }

    /// Returns the pids of wh and of its supervisor.
    pub fn processes(&self) -> BenchResult<Vec<i32>> {
        let own = self.wh.pid().as_raw();
        let mut all = process::children(own)?;
        all.insert(0, own);
        Ok(all)
    }
}

impl Contender for WhContender {
    fn type_in(&mut self, text: &str) -> BenchResult<()> {
        let text = text.replace('\n', "\\r");
        self.post("/control/send_input", &format!("{{\"text\":\"{text}\"}}"))
    }

    fn snapshot(&mut self) -> BenchResult<&[u8]> {
        let screen_request = self.screen_request.clone();
        self.shown = self.ask(&screen_request)?;
        Ok(&self.shown)
    }
}

/// tmux, controlled by one control client.
pub struct TmuxContender {
    tmux: Tmux,
    control: TmuxControl,
}

/// tmux command that prints the screen with its colours.
const CAPTURE_COMMAND: &str = "capture-pane -p -e";

impl TmuxContender {
    pub fn start(history: u32, command: &[&str]) -> BenchResult<Self> {
        let tmux = Tmux::options(COLUMNS, ROWS).history(history).start(command);
        let control = TmuxControl::attach(&tmux)?;
        Ok(Self { tmux, control })
    }

    /// Opens another connection for snapshots of the same screen.
    pub fn snapshot_client(&self) -> BenchResult<(TmuxControl, &'static str)> {
        Ok((TmuxControl::attach(&self.tmux)?, CAPTURE_COMMAND))
    }

    /// Returns the pid of the tmux server. Its clients are not measured.
    pub fn processes(&self) -> BenchResult<Vec<i32>> {
        Ok(vec![self.tmux.format("#{pid}").trim().parse()?])
    }
}

impl Contender for TmuxContender {
    fn type_in(&mut self, text: &str) -> BenchResult<()> {
        let (text, enter) = text.strip_suffix('\n').map_or((text, false), |text| (text, true));
        if !text.is_empty() {
            self.control.ask(&format!("send-keys -l '{text}'"))?;
        }
        if enter {
            self.control.ask("send-keys Enter")?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> BenchResult<&[u8]> {
        self.control.ask(CAPTURE_COMMAND)
    }
}
