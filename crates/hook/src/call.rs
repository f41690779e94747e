//! Arguments of a hook process.

use std::ffi::OsString;

use wh_wire::hook::HookAgent;

/// Help text of `wh-hook`.
pub const USAGE: &str = "\
Forward a hook of a coding agent to the wh session that the agent runs in

Usage: wh-hook --agent AGENT < PAYLOAD
       wh-hook --agent codex --notify PAYLOAD
       wh-hook --agent codex --notify-then PROGRAM [ARGUMENT]... PAYLOAD

AGENT is claude, codex or gemini. Coding agents call this program; wh configures them. It sends the payload to the
socket in WH_HOOK_SOCKET and prints the reply. Without WH_HOOK_SOCKET it prints {}.

--notify reads the payload from the last argument, as Codex passes it to its notify program. --notify-then also starts
PROGRAM with the same payload.
";

/// One call of the hook process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// Agent that calls.
    pub agent: HookAgent,
    /// Source of the payload.
    pub input: HookInput,
}

/// Source of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookInput {
    /// The payload is read from stdin, and the reply is printed.
    Stdin,
    /// The payload is the last argument, and the caller expects no reply.
    Notification {
        /// Payload of the notification.
        payload: OsString,
        /// The user's own notify program with its arguments; empty if there is none.
        then: Vec<OsString>,
    },
}

/// Error for invalid arguments of a hook process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookUsageError(String);

impl std::fmt::Display for HookUsageError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for HookUsageError {}

impl HookCall {
    /// Parses the arguments after the name of the program.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, HookUsageError> {
        let mut arguments = arguments.into_iter();
        let mut agent = None;
        let mut input = HookInput::Stdin;
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--agent") => {
                    let id = arguments.next().unwrap_or_default();
                    agent = Some(id.to_string_lossy().parse().map_err(HookUsageError)?);
                }
                Some("--notify" | "--notify-then") => {
                    let mut then: Vec<OsString> = arguments.by_ref().collect();
                    let payload =
                        then.pop().ok_or_else(|| HookUsageError(format!("{} needs a payload", argument.display())))?;
                    if argument == "--notify" && !then.is_empty() {
                        return Err(HookUsageError("--notify takes one payload; use --notify-then".to_owned()));
                    }
                    input = HookInput::Notification { payload, then };
                }
                _ => return Err(HookUsageError(format!("unknown argument {argument:?}; see wh-hook --help"))),
            }
        }
        let agent = agent.ok_or_else(|| HookUsageError("--agent is missing; see wh-hook --help".to_owned()))?;
        Ok(Self { agent, input })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<HookCall, String> {
        HookCall::parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_hook_reads_stdin_and_a_notification_its_last_argument() {
        let stdin = HookCall { agent: HookAgent::Claude, input: HookInput::Stdin };
        assert_eq!(parse(&["--agent", "claude"]), Ok(stdin));
        let input = |payload: &str, then: &[&str]| HookInput::Notification {
            payload: payload.into(),
            then: then.iter().map(OsString::from).collect(),
        };
        let codex = |input| Ok(HookCall { agent: HookAgent::Codex, input });
        assert_eq!(parse(&["--agent", "codex", "--notify", "{}"]), codex(input("{}", &[])));
        // The user's own program may have any arguments.
        let arguments = ["--agent", "codex", "--notify-then", "say", "--agent", "-x", "{}"];
        assert_eq!(parse(&arguments), codex(input("{}", &["say", "--agent", "-x"])));
    }

    #[test]
    fn invalid_arguments_are_named() {
        assert!(parse(&[]).unwrap_err().contains("--agent is missing"));
        assert!(parse(&["--agent", "cursor"]).unwrap_err().contains("cursor"));
        assert!(parse(&["--agent", "codex", "--notify"]).unwrap_err().contains("--notify needs a payload"));
        assert!(parse(&["--agent", "codex", "--notify", "a", "b"]).unwrap_err().contains("--notify-then"));
        assert!(parse(&["--verbose"]).unwrap_err().contains("--verbose"));
    }
}
