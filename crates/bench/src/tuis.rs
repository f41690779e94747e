//! Terminal UIs of agents: the UI of wh and the UIs of the real CLIs. Each UI runs in a terminal of another wh process,
//! which takes snapshots of the screen.

use std::path::PathBuf;
use std::time::Duration;

use wh_testkit::{Lab, Wh, process};

use crate::contenders::{Contender, WhContender};
use crate::content::{COLUMNS, ROWS};
use crate::process::cpu_seconds;
use crate::spaces::COMPOSER;
use crate::{BenchConfig, BenchResult};

/// Shell script that waits for Enter, so that the startup of the shell is not measured, and then runs the program.
const SCRIPT: &str = "echo ready; read line; exec \"$@\"";

/// Interval between two snapshots of a program that starts.
const STARTUP_POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Prompt that creates a conversation on the screen.
const HELLO: &str = "hello there";

/// A terminal UI, and texts to recognise its state.
pub struct Tui {
    pub name: &'static str,
    command: Vec<String>,
    /// Placeholder in the empty composer of the UI.
    composer: &'static str,
    /// Reply to [`HELLO`].
    answer: &'static str,
}

/// Environment in which the UIs run.
pub struct TuiEnvironment {
    /// Complete list of environment variables; `None` inherits the variables of this process.
    pub environment: Option<Vec<(String, String)>>,
    pub directory: PathBuf,
}

impl TuiEnvironment {
    pub fn lab(lab: &Lab) -> Self {
        Self { environment: Some(lab.env()), directory: lab.project.clone() }
    }
}

impl Tui {
    /// Returns wh's own UI, with the built-in agent.
    pub fn wh(config: &BenchConfig) -> Self {
        let command = vec![config.wh.to_string_lossy().into_owned()];
        Self { name: WH, command, composer: COMPOSER, answer: "“hello there”" }
    }

    /// Returns the UIs of the agents in the lab.
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

    /// Returns a minimal program, whose start time is the lower limit for UIs.
    pub fn minimal() -> Self {
        let command = ["sh", "-c", "echo this is all; exec sleep 1000000"].map(str::to_owned).to_vec();
        Self { name: "minimal shell script", command, composer: "this is all", answer: "" }
    }

    /// Creates a terminal with a shell that starts the program after Enter.
    pub fn prepare(&self, config: &BenchConfig, environment: &TuiEnvironment) -> BenchResult<ObservedTerminal> {
        let size = format!("{COLUMNS}x{ROWS}");
        let mut options = Wh::options(&config.wh).flags(&["--size", &size]).directory(&environment.directory);
        if let Some(environment) = &environment.environment {
            options = options.environment(environment.iter().cloned());
        }
        let mut arguments = vec!["--", "sh", "-c", SCRIPT, "sh"];
        arguments.extend(self.command.iter().map(String::as_str));
        let mut observer = WhContender::of(options.start(&arguments))?;
        observer.wait_for_text("ready", STARTUP_POLL_INTERVAL)?;
        Ok(ObservedTerminal { observer, composer: self.composer, answer: self.answer })
    }
}

/// Name of wh in the samples.
pub const WH: &str = "wh";

/// Terminal that runs a program. The observer is the wh process that owns the terminal.
pub struct ObservedTerminal {
    observer: WhContender,
    composer: &'static str,
    answer: &'static str,
}

impl ObservedTerminal {
    /// Starts the program, and waits until its composer is shown.
    pub fn start_program(&mut self) -> BenchResult<()> {
        self.observer.type_in("\n")?;
        self.observer.wait_for_text(self.composer, STARTUP_POLL_INTERVAL)
    }

    /// Types a text, and waits until `shown` is on the screen.
    pub fn type_until(&mut self, text: &str, shown: &str) -> BenchResult<()> {
        self.observer.type_in(text)?;
        self.observer.wait_for_text(shown, Duration::ZERO)
    }

    pub fn clear_composer(&mut self) -> BenchResult<()> {
        self.observer.press("ctrl+u")?;
        self.observer.wait_for_text(self.composer, STARTUP_POLL_INTERVAL)
    }

    /// Sends [`HELLO`] to the agent and waits for the reply.
    pub fn say_hello(&mut self) -> BenchResult<()> {
        /// Delay before Enter. The agents treat an Enter directly after a text as part of a paste.
        const BEFORE_ENTER_DELAY: Duration = Duration::from_millis(400);
        self.type_until(HELLO, HELLO)?;
        std::thread::sleep(BEFORE_ENTER_DELAY);
        self.observer.press("enter")?;
        self.observer.wait_for_text(self.answer, STARTUP_POLL_INTERVAL)
    }

    /// Returns the CPU time of the program and its descendants in seconds.
    pub fn cpu_seconds(&self) -> BenchResult<f64> {
        let observer = self.observer.wh().pid();
        let supervisors = crate::process::children(observer.as_raw())?;
        let program = process::descendants(observer).into_iter().map(nix::unistd::Pid::as_raw);
        let program = program.filter(|pid| !supervisors.contains(pid));
        // A helper process may have exited since it was listed.
        let seconds: f64 = program.filter_map(|pid| cpu_seconds(&[pid]).ok()).sum();
        // A program that has drawn a screen has used CPU time. Zero means that the program was not found.
        if seconds > 0.0 { Ok(seconds) } else { Err("cannot find the program among the descendants of wh".into()) }
    }
}
