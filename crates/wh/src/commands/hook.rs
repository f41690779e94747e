//! Implements `wh hook`, which coding agents call at their events.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use wh_hook::{HookCall, HookInput};
use wh_wire::hook::HookAgent;

/// Forward a hook of a coding agent to its session
///
/// Coding agents call this command at their events; wh configures them when it starts them. It reads the payload from
/// standard input, sends it to the socket in WH_HOOK_SOCKET, and prints the reply. The program `wh-hook` is the same
/// command and starts faster.
#[derive(Debug, Args)]
#[command(after_help = "\
Without WH_HOOK_SOCKET it prints {} and exits with 0. If nothing answers on the socket, permission events are denied
with exit code 2, and all other events print {} and exit with 0. See docs/hooks.md.")]
pub struct HookCommand {
    // Not the setting `agent`: this command reads no settings file.
    /// Agent that calls: claude, codex or gemini
    #[arg(long = "agent", value_name = "AGENT")]
    caller: HookAgent,

    /// Payload of a notification of Codex, instead of standard input
    #[arg(long, value_name = "PAYLOAD", conflicts_with = "notify_then")]
    notify: Option<OsString>,

    /// Like --notify; then start this program with the same payload as its last argument
    #[arg(long, value_names = ["PROGRAM", "PAYLOAD"], num_args = 2.., allow_hyphen_values = true)]
    notify_then: Vec<OsString>,
}

impl HookCommand {
    pub fn run(mut self) -> ExitCode {
        let input = match self.notify.or_else(|| self.notify_then.pop()) {
            Some(payload) => HookInput::Notification { payload, then: self.notify_then },
            None => HookInput::Stdin,
        };
        HookCall { agent: self.caller, input }.run()
    }
}
