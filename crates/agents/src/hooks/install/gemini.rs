//! Hooks of Gemini CLI: a file of system defaults, the lowest of its settings files. Gemini CLI joins the hooks of all
//! its settings files. The file of system overrides would override the user's settings and is never used.
//!
//! Gemini CLI 0.61.0 reads the file only if root owns it and all directories above it, and nobody else can write to
//! them. Otherwise it shows a warning and reads no system defaults at all, so then the launch is not changed.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wh_wire::hook::{EVENT_HOOK_TIMEOUT, HookAgent};

use super::{HookInstallError, HookInstallation, HookedLaunch, read};

/// Variable with the path of the file of system defaults.
const DEFAULTS_VARIABLE: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";

/// Variable with the path of the file of system overrides. The defaults are beside it unless their variable is set.
const OVERRIDES_VARIABLE: &str = "GEMINI_CLI_SYSTEM_SETTINGS_PATH";

const SYSTEM_OVERRIDES: &str = "/etc/gemini-cli/settings.json";

/// Events whose hooks are set. Gemini CLI calls those without a matcher for all tools.
const GEMINI_EVENTS: [&str; 8] = [
    "BeforeAgent",
    "AfterAgent",
    "BeforeTool",
    "AfterTool",
    "Notification",
    "SessionStart",
    "SessionEnd",
    "PreCompress",
];

pub(super) fn install(installation: &HookInstallation<'_>) -> Result<HookedLaunch, HookInstallError> {
    let settings = merged_settings(installation)?;
    let arguments = installation.arguments.to_vec();
    if !is_trusted(installation.directory) {
        return Ok(HookedLaunch { arguments, environment: Vec::new(), calls_hooks: false });
    }
    let file = installation.write("gemini-system-defaults.json", &settings)?;
    let environment = vec![(DEFAULTS_VARIABLE.to_owned(), file.into())];
    Ok(HookedLaunch { arguments, environment, calls_hooks: true })
}

/// Returns true if Gemini CLI reads system defaults in this directory.
fn is_trusted(directory: &Path) -> bool {
    let owned = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.uid() == 0 && metadata.permissions().mode() & 0o022 == 0)
    };
    // Gemini CLI checks the path with and without its symbolic links.
    let real = directory.canonicalize();
    directory.is_absolute() && directory.ancestors().all(owned) && real.is_ok_and(|real| real.ancestors().all(owned))
}

/// Returns the existing system defaults with the hooks.
pub(in crate::hooks) fn merged_settings(installation: &HookInstallation<'_>) -> Result<Value, HookInstallError> {
    let existing = defaults_path(installation);
    let origin = existing.display().to_string();
    let mut settings = match read(&existing)? {
        Some(text) => serde_json::from_str(&without_comments(&text)).map_err(|error| HookInstallError::Settings {
            origin: origin.clone(),
            problem: format!("it is not valid JSON: {error}"),
        })?,
        None => json!({}),
    };
    let command = installation.program.shell_command(HookAgent::Gemini);
    let hook = json!({
        "name": "wh",
        "type": "command",
        "command": command,
        "timeout": u64::try_from(EVENT_HOOK_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
    });
    installation.add_hooks(&mut settings, &origin, GEMINI_EVENTS.map(|event| (event, hook.clone())))?;
    set_default(&mut settings, "hooksConfig", "enabled", true);
    // Gemini CLI shows a line for each running hook unless this is false.
    set_default(&mut settings, "hooksConfig", "notifications", false);
    set_default(&mut settings, "ui", "showStatusInTitle", true);
    Ok(settings)
}

fn defaults_path(installation: &HookInstallation<'_>) -> PathBuf {
    let context = installation.context;
    let path = match (context.variable(DEFAULTS_VARIABLE), context.variable(OVERRIDES_VARIABLE)) {
        (Some(defaults), _) => PathBuf::from(defaults),
        (None, overrides) => {
            let overrides = overrides.map_or_else(|| PathBuf::from(SYSTEM_OVERRIDES), PathBuf::from);
            overrides.parent().unwrap_or(Path::new("")).join("system-defaults.json")
        }
    };
    context.directory.join(path)
}

/// Sets `group.name` unless the settings have it.
fn set_default(settings: &mut Value, group: &str, name: &str, value: bool) {
    let Some(settings) = settings.as_object_mut() else { return };
    if let Some(group) = settings.entry(group).or_insert_with(|| json!({})).as_object_mut() {
        group.entry(name).or_insert(Value::Bool(value));
    }
}

/// Replaces comments by spaces. Gemini CLI accepts `//` and `/* */` in its settings files.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.split_once("*/").map_or("", |(_, after)| after);
                kept.push(' ');
                continue;
            }
            other => other.len_utf8(),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        kept.push_str(piece);
        rest = after;
    }
    kept
}

/// Returns the length of the JSON string at the beginning of the text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_another_user_or_below_one_that_all_can_write_to_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let below = folder.path().join("below");
        std::fs::create_dir(&below).unwrap();
        assert!(!is_trusted(folder.path()) && !is_trusted(&below) && !is_trusted(&below.join("missing")));
        assert!(!is_trusted(Path::new("etc")));
    }

    #[test]
    fn comments_are_removed_outside_of_strings_only() {
        let text = "{ // one\n\"a\": \"//\\\"/* */\", /* two\n */ \"é\": 1 } // three";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, json!({ "a": "//\"/* */", "é": 1 }));
        for text in ["", "\"", "\"\\", "/*", "/", "//"] {
            assert!(without_comments(text).len() <= text.len());
        }
    }
}
