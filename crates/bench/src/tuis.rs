//! Terminal UIs of agents, each in a terminal that the same observer holds: wh's own, and those of the real CLIs.

use std::path::PathBuf;
use std::time::Duration;

use wh_testkit::{Lab, Wh, process};

use crate::contenders::{Contender, OverHttp};
use crate::content::{COLUMNS, ROWS};
use crate::process::cpu_seconds;
use crate::spaces::COMPOSER;
use crate::{Outcome, Setting};

/// Waits for Enter, so that what came before the program is not measured.
const SCRIPT: &str = "echo ready; read line; exec \"$@\"";

/// Between two looks at a program that starts.
const BETWEEN: Duration = Duration::from_millis(2);

/// What is said so that a conversation is on the screen.
const HELLO: &str = "hello there";

/// A program, and how its screen is read.
pub struct Tui {
    pub name: &'static str,
    command: Vec<String>,
    /// What its composer says when it is empty.
    composer: &'static str,
    /// What it answers to [`HELLO`].
    answer: &'static str,
}

/// Where they run.
pub struct Place {
    /// All variables; `None` are this process's own.
    pub environment: Option<Vec<(String, String)>>,
    pub directory: PathBuf,
}

impl Place {
    pub fn lab(lab: &Lab) -> Self {
        Self { environment: Some(lab.env()), directory: lab.project.clone() }
    }
}

impl Tui {
    /// wh's own UI, with the agent that is built in.
    pub fn wh(setting: &Setting) -> Self {
        let command = vec![setting.wh.to_string_lossy().into_owned()];
        Self { name: WH, command, composer: COMPOSER, answer: "“hello there”" }
    }

    /// Those of the agents that the lab has.
    pub fn agents() -> [Self; 3] {
        let agent = |name, command: &str, composer| {
            let command = vec![command.to_owned()];
            Self { name, command, composer, answer: "echo: hello there" }
        };
        [
            agent("Codex", "codex", "Ask Codex to do anything"),
            agent("Gemini CLI", "gemini", "Type your message"),
            agent("Claude Code", "claude", "? for shortcuts"),
        ]
    }

    /// The least that a program can do: a limit for starting.
    pub fn least() -> Self {
        let command = ["sh", "-c", "echo this is all; exec sleep 1000000"].map(str::to_owned).to_vec();
        Self { name: "sh and an echo", command, composer: "this is all", answer: "" }
    }

    /// A terminal in which the program is about to be started.
    pub fn prepare(&self, setting: &Setting, place: &Place) -> Outcome<Terminal> {
        let size = format!("{COLUMNS}x{ROWS}");
        let mut options = Wh::options(&setting.wh).flags(&["--size", &size]).directory(&place.directory);
        if let Some(environment) = &place.environment {
            options = options.environment(environment.iter().cloned());
        }
        let mut arguments = vec!["--", "sh", "-c", SCRIPT, "sh"];
        arguments.extend(self.command.iter().map(String::as_str));
        let mut observer = OverHttp::of(options.start(&arguments))?;
        observer.until_shown("ready", BETWEEN)?;
        Ok(Terminal { observer, composer: self.composer, answer: self.answer })
    }
}

/// What wh is called among them.
pub const WH: &str = "wh";

/// A terminal with a program, and the observer that holds it.
pub struct Terminal {
    observer: OverHttp,
    composer: &'static str,
    answer: &'static str,
}

impl Terminal {
    /// Starts the program, and looks until its composer is there.
    pub fn begin(&mut self) -> Outcome<()> {
        self.observer.type_in("\n")?;
        self.observer.until_shown(self.composer, BETWEEN)
    }

    /// Types something, and looks until this is shown.
    pub fn type_until(&mut self, text: &str, shown: &str) -> Outcome<()> {
        self.observer.type_in(text)?;
        self.observer.until_shown(shown, Duration::ZERO)
    }

    /// Empties the composer.
    pub fn empty(&mut self) -> Outcome<()> {
        self.observer.press("ctrl+u")?;
        self.observer.until_shown(self.composer, BETWEEN)
    }

    /// Has one turn with the agent.
    pub fn say_hello(&mut self) -> Outcome<()> {
        /// To them an Enter right behind a text is part of a paste.
        const REST: Duration = Duration::from_millis(400);
        self.type_until(HELLO, HELLO)?;
        std::thread::sleep(REST);
        self.observer.press("enter")?;
        self.observer.until_shown(self.answer, BETWEEN)
    }

    /// Seconds that the program, and what it has started, have had a processor.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        let observer = self.observer.wh().pid();
        let supervisors = crate::process::children(observer.as_raw())?;
        let program = process::descendants(observer).into_iter().map(nix::unistd::Pid::as_raw);
        let program = program.filter(|pid| !supervisors.contains(pid));
        // A helper of theirs may just have ended.
        let seconds: f64 = program.filter_map(|pid| cpu_seconds(&[pid]).ok()).sum();
        // It has drawn a screen, and that took some: otherwise it is not the program that was counted.
        if seconds > 0.0 { Ok(seconds) } else { Err("the program is not among the observer's processes".into()) }
    }
}
