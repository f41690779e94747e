//! wh and tmux, each with the same program on a screen of the same size, behind the same few verbs.

use std::time::{Duration, Instant};

use bytes::Bytes;
use memchr::memmem;
use wh_api::{Request, blocking};
use wh_testkit::{Tmux, Wh};

use crate::content::{COLUMNS, ROWS};
use crate::tmux::Control;
use crate::{Outcome, Setting, client, process};

/// Who does not show what is waited for within this has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The time in which a wh that does not answer may be seen to end.
const END_GRACE: Duration = Duration::from_secs(2);

/// Somebody who holds a terminal, can be typed to, and shows the screen.
pub trait Contender {
    /// Types a text.
    fn type_in(&mut self, text: &str) -> Outcome<()>;

    /// The screen as it is now, with its colours.
    fn snapshot(&mut self) -> Outcome<&[u8]>;

    /// Looks again and again, with this much time between, until the screen holds the text.
    fn until_shown(&mut self, text: &str, between: Duration) -> Outcome<()> {
        self.until_counted(text, 1, between)
    }

    /// How often the snapshot holds the text. A snapshot may say a thing in several ways.
    fn count(&mut self, text: &str) -> Outcome<usize> {
        Ok(memmem::find_iter(self.snapshot()?, text.as_bytes()).count())
    }

    /// Looks until the snapshot holds the text this often.
    fn until_counted(&mut self, text: &str, times: usize, between: Duration) -> Outcome<()> {
        let start = Instant::now();
        while memmem::find_iter(self.snapshot()?, text.as_bytes()).take(times).count() < times {
            if start.elapsed() > PATIENCE {
                return Err(format!("{text:?} is not shown").into());
            }
            if !between.is_zero() {
                std::thread::sleep(between);
            }
        }
        Ok(())
    }
}

/// wh, over one connection.
pub struct OverHttp {
    wh: Wh,
    client: blocking::Client,
    look: Request,
    shown: Bytes,
}

impl OverHttp {
    pub fn start(setting: &Setting, history: u32, command: &[&str]) -> Outcome<Self> {
        let (size, history) = (format!("{COLUMNS}x{ROWS}"), history.to_string());
        let mut arguments = vec!["--"];
        arguments.extend(command);
        let wh = Wh::options(&setting.wh).flags(&["--size", &size, "--scrollback", &history]).start(&arguments);
        Self::of(wh)
    }

    /// One that runs already.
    pub fn of(wh: Wh) -> Outcome<Self> {
        let client = client::of(&wh)?;
        Ok(Self { wh, client, look: Self::look(), shown: Bytes::new() })
    }

    pub fn wh(&self) -> &Wh {
        &self.wh
    }

    /// Posts JSON; the answer must be a good one.
    pub fn post(&mut self, path: &str, json: &str) -> Outcome<()> {
        self.ask(&Request::new("POST", path).body(json.to_owned())).map(drop)
    }

    /// Asks. An error says how wh has ended, if it has.
    fn ask(&mut self, request: &Request) -> Outcome<Bytes> {
        client::ask(&self.client, request).map_err(|error| match self.wh.ended(END_GRACE) {
            Some(status) => format!("{error}\nwh itself ended with {status}, and wrote: {}", self.wh.stderr()).into(),
            None => error,
        })
    }

    /// Presses a key by its name.
    pub fn press(&mut self, key: &str) -> Outcome<()> {
        self.post("/control/send_input", &format!("{{\"key\":\"{key}\"}}"))
    }

    /// Asks for the screen of this moment: tmux does not wait for the end of a frame either.
    fn look() -> Request {
        Request::get("/control/screen?now=1")
    }

    /// Another who looks at the same screen.
    pub fn onlooker(&self) -> Outcome<(blocking::Client, Request)> {
        Ok((client::of(&self.wh)?, Self::look()))
    }

    /// wh itself and the supervisor that it starts.
    pub fn processes(&self) -> Outcome<Vec<i32>> {
        let own = self.wh.pid().as_raw();
        let mut all = process::children(own)?;
        all.insert(0, own);
        Ok(all)
    }
}

impl Contender for OverHttp {
    fn type_in(&mut self, text: &str) -> Outcome<()> {
        let text = text.replace('\n', "\\r");
        self.post("/control/send_input", &format!("{{\"text\":\"{text}\"}}"))
    }

    fn snapshot(&mut self) -> Outcome<&[u8]> {
        let look = self.look.clone();
        self.shown = self.ask(&look)?;
        Ok(&self.shown)
    }
}

/// tmux, over one control client.
pub struct InControlMode {
    tmux: Tmux,
    control: Control,
}

/// What tmux is asked for the screen with its colours.
const CAPTURE: &str = "capture-pane -p -e";

impl InControlMode {
    pub fn start(history: u32, command: &[&str]) -> Outcome<Self> {
        let tmux = Tmux::options(COLUMNS, ROWS).history(history).start(command);
        let control = Control::attach(&tmux)?;
        Ok(Self { tmux, control })
    }

    /// Another who looks at the same screen.
    pub fn onlooker(&self) -> Outcome<(Control, &'static str)> {
        Ok((Control::attach(&self.tmux)?, CAPTURE))
    }

    /// The server alone; its clients come and go.
    pub fn processes(&self) -> Outcome<Vec<i32>> {
        Ok(vec![self.tmux.format("#{pid}").trim().parse()?])
    }
}

impl Contender for InControlMode {
    fn type_in(&mut self, text: &str) -> Outcome<()> {
        let (text, enter) = text.strip_suffix('\n').map_or((text, false), |text| (text, true));
        if !text.is_empty() {
            self.control.ask(&format!("send-keys -l '{text}'"))?;
        }
        if enter {
            self.control.ask("send-keys Enter")?;
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Outcome<&[u8]> {
        self.control.ask(CAPTURE)
    }
}
