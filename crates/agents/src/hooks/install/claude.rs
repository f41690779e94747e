//! Hooks of Claude Code: a file for `--settings`. Claude Code adds the hooks of that file to those of its other
//! settings files. It reads only one `--settings`, so that of the user is merged.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::{Value, json};
use wh_wire::hook::{EVENT_HOOK_TIMEOUT, HookAgent, PERMISSION_HOOK_TIMEOUT};

use super::{HookInstallError, HookInstallation, HookedLaunch, read};

/// Events whose hooks are set. Claude Code calls those without a matcher for all tools.
const CLAUDE_EVENTS: [&str; 10] = [
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
];

pub(super) fn install(installation: &HookInstallation<'_>) -> Result<HookedLaunch, HookInstallError> {
    let (user_settings, others) = split_settings(installation.arguments);
    let mut settings = match &user_settings {
        Some(value) => user_value(installation, value)?,
        None => json!({}),
    };
    let command = installation.program.shell_command(HookAgent::Claude);
    let hooks = CLAUDE_EVENTS.map(|event| {
        let limit = if event == "PermissionRequest" { PERMISSION_HOOK_TIMEOUT } else { EVENT_HOOK_TIMEOUT };
        (event, json!({ "type": "command", "command": command, "timeout": limit.as_secs() }))
    });
    installation.add_hooks(&mut settings, "--settings", hooks)?;
    let file = installation.write("claude-settings.json", &settings)?;
    let mut arguments: Vec<OsString> = vec!["--settings".into(), file.into()];
    arguments.extend(others);
    Ok(HookedLaunch { arguments, environment: Vec::new(), calls_hooks: true })
}

/// Splits the value of the last `--settings` from the other arguments. Claude Code ignores the earlier ones.
fn split_settings(arguments: &[OsString]) -> (Option<OsString>, Vec<OsString>) {
    let mut found = None;
    let mut others = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            others.push(argument.clone());
            others.extend(arguments.cloned());
            break;
        }
        if argument == "--settings" {
            found = arguments.next().cloned();
        } else if let Some(value) = argument.as_bytes().strip_prefix(b"--settings=") {
            found = Some(OsString::from_vec(value.to_vec()));
        } else {
            others.push(argument.clone());
        }
    }
    (found, others)
}

/// Reads the user's settings: JSON, or the path of a file.
fn user_value(installation: &HookInstallation<'_>, value: &OsString) -> Result<Value, HookInstallError> {
    let inline = value.to_str().map(str::trim).filter(|text| text.starts_with('{'));
    let text = match inline {
        Some(text) => text.to_owned(),
        None => {
            let path = installation.context.directory.join(value);
            let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
            read(&path)?.ok_or_else(|| HookInstallError::Read { path, source: missing() })?
        }
    };
    serde_json::from_str(&text).map_err(|error| HookInstallError::Settings {
        origin: "--settings".to_owned(),
        problem: format!("it is not valid JSON: {error}"),
    })
}
