//! Hooks of Codex: its `notify` program, which it calls at the end of a turn, and hooks in its session flags (`-c`).
//! Codex runs hooks only after the user has reviewed them in Codex, which stores the review in its `config.toml`. wh
//! neither writes nor simulates a review.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::json;
use toml::{Table, Value as TomlValue};
use wh_wire::hook::{EVENT_HOOK_TIMEOUT, HookAgent, PERMISSION_HOOK_TIMEOUT, SHORT_HOOK_TIMEOUT};

use super::{CodexHooks, HookInstallError, HookInstallation, HookedLaunch, read};

/// Events whose hooks are set, with their names in the stored reviews.
const CODEX_EVENTS: [(&str, &str); 9] = [
    ("UserPromptSubmit", "user_prompt_submit"),
    ("PreToolUse", "pre_tool_use"),
    ("PermissionRequest", "permission_request"),
    ("PostToolUse", "post_tool_use"),
    ("Stop", "stop"),
    ("SessionStart", "session_start"),
    ("SessionEnd", "session_end"),
    ("PreCompact", "pre_compact"),
    ("Interrupt", "interrupt"),
];

/// Name that Codex gives to its session flags in stored reviews.
const SESSION_FLAGS: &str = "/<session-flags>/config.toml";

pub(super) fn install(installation: &HookInstallation<'_>) -> Result<HookedLaunch, HookInstallError> {
    let CodexArguments { overrides, profile, others } = CodexArguments::split(installation.arguments);
    let config = UserConfig::read(installation, profile.as_deref())?;
    let own_notify = overrides.iter().rev().find(|(key, _)| key == "notify").map(|(_, value)| words(value));
    let notify = own_notify.unwrap_or_else(|| config.notify());
    let mut arguments = Vec::new();
    let mut set = |assignment: String| arguments.extend([OsString::from("-c"), assignment.into()]);
    let sets_hooks = overrides.iter().any(|(key, _)| key == "hooks" || key.starts_with("hooks."));
    for (key, value) in overrides.iter().filter(|(key, _)| key != "notify") {
        set(format!("{key}={value}"));
    }
    let calls_hooks = !sets_hooks
        && match installation.codex_hooks {
            CodexHooks::NotifyOnly => false,
            CodexHooks::IfReviewed => config.reviewed(),
            CodexHooks::Offer => true,
        };
    if calls_hooks {
        let command = json!(installation.program.shell_command(HookAgent::Codex));
        for (event, _) in CODEX_EVENTS {
            let limit = match event {
                "PermissionRequest" => PERMISSION_HOOK_TIMEOUT,
                // Codex warns about longer limits of these.
                "SessionEnd" | "Interrupt" => SHORT_HOOK_TIMEOUT,
                _ => EVENT_HOOK_TIMEOUT,
            };
            let limit = limit.as_secs();
            set(format!("hooks.{event}=[{{hooks=[{{type=\"command\",command={command},timeout={limit}}}]}}]"));
        }
    }
    let mut program = installation.program.words(HookAgent::Codex);
    program.push(if notify.is_empty() { "--notify" } else { "--notify-then" }.to_owned());
    program.extend(notify);
    // A list of JSON strings is a list of TOML strings.
    set(format!("notify={}", json!(program)));
    arguments.extend(others);
    Ok(HookedLaunch { arguments, environment: Vec::new(), calls_hooks })
}

/// Arguments of Codex, with the overrides of its configuration apart from the others.
struct CodexArguments {
    /// Keys and values of `-c KEY=VALUE`, in order.
    overrides: Vec<(String, String)>,
    /// Value of `--profile`.
    profile: Option<String>,
    others: Vec<OsString>,
}

impl CodexArguments {
    fn split(arguments: &[OsString]) -> Self {
        let mut split = Self { overrides: Vec::new(), profile: None, others: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                split.others.push(argument.clone());
                split.others.extend(arguments.cloned());
                break;
            }
            let bytes = argument.as_bytes();
            if argument == "-c" || argument == "--config" {
                match arguments.next() {
                    Some(value) if split.add_override(value) => {}
                    value => split.others.extend([Some(argument), value].into_iter().flatten().cloned()),
                }
                continue;
            }
            let attached = bytes.strip_prefix(b"--config=").or_else(|| bytes.strip_prefix(b"-c"));
            if attached.is_some_and(|value| split.add_override(OsStr::from_bytes(value))) {
                continue;
            }
            split.others.push(argument.clone());
            if argument == "--profile" || argument == "-p" {
                let value = arguments.next();
                split.profile = value.and_then(|value| value.to_str()).map(str::to_owned);
                split.others.extend(value.cloned());
            } else if let Some(value) = bytes.strip_prefix(b"--profile=") {
                split.profile = String::from_utf8(value.to_vec()).ok();
            }
        }
        split
    }

    /// Adds an override. Returns false if the text is none.
    fn add_override(&mut self, text: &OsStr) -> bool {
        let Some((key, value)) = text.to_str().and_then(|text| text.split_once('=')) else { return false };
        self.overrides.push((key.trim().to_owned(), value.to_owned()));
        true
    }
}

/// Returns the words of a list in TOML; empty if the text is none.
fn words(text: &str) -> Vec<String> {
    let table: Option<Table> = toml::from_str(&format!("notify={text}")).ok();
    table.map(|table| notify_of(&table)).unwrap_or_default()
}

fn notify_of(table: &Table) -> Vec<String> {
    let words = table.get("notify").and_then(TomlValue::as_array).into_iter().flatten();
    words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Configuration files of the user, the more specific first.
struct UserConfig(Vec<Table>);

impl UserConfig {
    fn read(installation: &HookInstallation<'_>, profile: Option<&str>) -> Result<Self, HookInstallError> {
        let context = installation.context;
        let Some(folder) = context.variable("CODEX_HOME").map(PathBuf::from).or_else(|| context.home(".codex")) else {
            return Ok(Self(Vec::new()));
        };
        let profile = profile.filter(|name| !name.contains('/')).map(|name| format!("{name}.config.toml"));
        let names = profile.into_iter().chain(["config.toml".to_owned()]);
        let mut tables = Vec::new();
        for path in names.map(|name| context.directory.join(&folder).join(name)) {
            let Some(text) = read(&path)? else { continue };
            tables.push(toml::from_str(&text).map_err(|error| HookInstallError::Settings {
                origin: path.display().to_string(),
                problem: error.message().to_owned(),
            })?);
        }
        Ok(Self(tables))
    }

    /// Returns the user's notify program with its arguments; empty if there is none.
    fn notify(&self) -> Vec<String> {
        self.0.iter().find(|table| table.contains_key("notify")).map(notify_of).unwrap_or_default()
    }

    /// Returns true if Codex has stored a review of each hook, and none is disabled. The hooks may have changed since
    /// the review; then Codex asks the user again.
    fn reviewed(&self) -> bool {
        let of = |table: &Table, event: &str| {
            let review = table.get("hooks")?.get("state")?.get(format!("{SESSION_FLAGS}:{event}:0:0"))?.clone();
            let enabled = review.get("enabled").and_then(TomlValue::as_bool).unwrap_or(true);
            (review.get("trusted_hash")?.is_str() && enabled).then_some(())
        };
        CODEX_EVENTS.iter().all(|(_, event)| self.0.iter().any(|table| of(table, event).is_some()))
    }
}
