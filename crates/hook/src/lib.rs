//! The process that a coding agent calls as its hook: reads the payload, sends it to the listener of the session, and
//! prints the reply. Used by `wh hook` and by the binary `wh-hook`, which starts faster.
//!
//! The process never logs a payload, and never takes longer than the agent waits for it. Without a listener it denies
//! permissions and lets everything else pass.

mod call;
mod exchange;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use wh_wire::hook::{
    EVENT_PROCESS_TIMEOUT, HOOK_SOCKET_VARIABLE, HookExit, NOTIFY_PROCESS_TIMEOUT, PERMISSION_PROCESS_TIMEOUT,
    is_permission_payload,
};

pub use call::{HookCall, HookInput, HookUsageError, USAGE};

/// Exit code for invalid arguments, which no agent takes for a denial.
const USAGE_CODE: u8 = 1;

/// Exit code if the user's own notify program cannot be started.
const NOT_STARTED_CODE: u8 = 127;

/// Parses the arguments and runs the call. `arguments` does not include the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|first| *first == "--help" || *first == "-h") {
        let _ = io::stdout().write_all(USAGE.as_bytes());
        return ExitCode::SUCCESS;
    }
    match HookCall::parse(arguments) {
        Ok(call) => call.run(),
        Err(error) => {
            let _ = writeln!(io::stderr(), "wh-hook: {error}");
            ExitCode::from(USAGE_CODE)
        }
    }
}

impl HookCall {
    /// Runs the call: sends the payload, prints the reply and returns the exit code. A notification ends in the user's
    /// own notify program, which replaces this process.
    pub fn run(self) -> ExitCode {
        let socket = env::var_os(HOOK_SOCKET_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
        let notification = match &self.input {
            HookInput::Stdin => None,
            HookInput::Notification { payload, then } => Some((payload.clone(), then.clone())),
        };
        let exit = match socket {
            Some(socket) => self.exchange_in_time(socket),
            None => HookExit::undecided(),
        };
        match notification {
            Some((payload, then)) => start_notify_program(&then, &payload),
            None => print(&exit),
        }
    }

    /// Exchanges request and reply in a thread, so that neither stdin nor the socket can block the process for longer
    /// than the time limit.
    fn exchange_in_time(self, socket: PathBuf) -> HookExit {
        let started = Instant::now();
        let notification = matches!(self.input, HookInput::Notification { .. });
        let (sender, stages) = mpsc::sync_channel(2);
        let thread = thread::Builder::new().spawn(move || {
            let reply = self.exchange(&socket, &sender);
            let _ = sender.send(HookStage::Ended(reply));
        });
        if thread.is_err() {
            return HookExit::undecided();
        }
        let mut limit = if notification { NOTIFY_PROCESS_TIMEOUT } else { EVENT_PROCESS_TIMEOUT };
        let mut permission = false;
        let problem = loop {
            let left = limit.saturating_sub(started.elapsed());
            match stages.recv_timeout(left) {
                Ok(HookStage::Permission) => {
                    permission = true;
                    limit = PERMISSION_PROCESS_TIMEOUT;
                }
                Ok(HookStage::Ended(Ok(exit))) => return exit,
                Ok(HookStage::Ended(Err(problem))) => break problem,
                Err(RecvTimeoutError::Timeout) => break no_reply(limit),
                Err(RecvTimeoutError::Disconnected) => break "the hook process failed".to_owned(),
            }
        };
        if permission {
            HookExit::denied(format!("wh cannot decide on this permission: {problem}"))
        } else {
            HookExit::undecided()
        }
    }

    fn exchange(self, socket: &std::path::Path, stages: &SyncSender<HookStage>) -> Result<HookExit, String> {
        let payload = match self.input {
            HookInput::Stdin => exchange::read_payload(io::stdin().lock())?,
            HookInput::Notification { payload, .. } => payload.as_bytes().to_vec(),
        };
        if is_permission_payload(&payload) {
            let _ = stages.send(HookStage::Permission);
        }
        exchange::exchange(socket, self.agent, &payload)
    }
}

/// Progress of an exchange.
enum HookStage {
    /// The payload was read, and asks for a permission.
    Permission,
    /// The exchange ended with a reply, or with the reason why there is none.
    Ended(Result<HookExit, String>),
}

fn no_reply(limit: Duration) -> String {
    format!("no reply within {} s", limit.as_secs())
}

fn print(exit: &HookExit) -> ExitCode {
    if !exit.stdout.is_empty() {
        let _ = io::stdout().write_all(format!("{}\n", exit.stdout).as_bytes());
    }
    if !exit.stderr.is_empty() {
        let _ = io::stderr().write_all(format!("{}\n", exit.stderr).as_bytes());
    }
    ExitCode::from(exit.code)
}

/// Replaces this process by the user's own notify program, with the payload as its last argument.
fn start_notify_program(then: &[OsString], payload: &OsStr) -> ExitCode {
    let Some((program, arguments)) = then.split_first() else { return ExitCode::SUCCESS };
    let error = Command::new(program).args(arguments).arg(payload).stdin(Stdio::null()).exec();
    let _ = writeln!(io::stderr(), "wh-hook: cannot start {}: {error}", program.display());
    ExitCode::from(NOT_STARTED_CODE)
}
