//! wh and tmux, each with the same program on a screen of the same size, behind the same few verbs.

use std::time::{Duration, Instant};

use memchr::memmem;
use wh_testkit::{Tmux, Wh};

use crate::content::{COLUMNS, ROWS};
use crate::http::{Line, Question};
use crate::tmux::Control;
use crate::{Outcome, Setting, process};

/// Who does not show what is waited for within this has failed.
const PATIENCE: Duration = Duration::from_secs(120);

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
    line: Line,
    look: Question,
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
        let line = Line::open(wh.port())?;
        Ok(Self { wh, line, look: Self::look() })
    }

    pub fn wh(&self) -> &Wh {
        &self.wh
    }

    /// Posts JSON; the answer must be a good one.
    pub fn post(&mut self, path: &str, json: &str) -> Outcome<()> {
        self.line.ask(&Question::post(path, json)).map(drop)
    }

    /// Presses a key by its name.
    pub fn press(&mut self, key: &str) -> Outcome<()> {
        self.post("/control/send_input", &format!("{{\"key\":\"{key}\"}}"))
    }

    /// Asks for the screen of this moment: tmux does not wait for the end of a frame either.
    fn look() -> Question {
        Question::get("/control/screen?now=1")
    }

    /// Another who looks at the same screen.
    pub fn onlooker(&self) -> Outcome<(Line, Question)> {
        Ok((Line::open(self.wh.port())?, Self::look()))
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
        self.line.ask(&self.look)
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
