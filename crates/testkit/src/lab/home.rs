//! Home directory and environment of the lab's CLIs. The CLIs start without dialogs and connect only to the scripted
//! model.

use std::fs;
use std::path::Path;

use serde_json::json;

/// API key for Claude Code, exactly 20 characters long. Claude Code asks for approval of a key unless its last 20
/// characters are already approved.
const LAB_API_KEY: &str = "sk-ant-lab-key-00000";

/// Writes the settings of all three CLIs and marks `project` as trusted.
pub(super) fn prepare(home: &Path, project: &Path, model: &str) {
    for directory in [home, &home.join("tmp"), project] {
        fs::create_dir_all(directory).unwrap_or_else(|error| panic!("cannot create {}: {error}", directory.display()));
    }
    write(&home.join(".claude.json"), &claude(project));
    write(&home.join(".codex/config.toml"), &codex(project, model));
    write(&home.join(".gemini/settings.json"), &gemini());
}

/// Returns the complete environment of a CLI. `PATH` is the directory of the CLIs, followed by the `PATH` of the test.
/// All other variables are set for the lab.
pub(super) fn environment(home: &Path, clis: &Path, model: &str) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let path = format!("{}:{path}", clis.join("node_modules/.bin").display());
    // Claude Code uses /tmp by default, which all labs would share.
    let temporary = home.join("tmp").display().to_string();
    let home = home.display().to_string();
    [
        ("PATH", path.as_str()),
        ("HOME", &home),
        ("TMPDIR", &temporary),
        ("CLAUDE_CODE_TMPDIR", &temporary),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("ANTHROPIC_BASE_URL", model),
        ("ANTHROPIC_API_KEY", LAB_API_KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("LAB_KEY", "x"),
        ("GEMINI_API_KEY", "x"),
        ("GOOGLE_GEMINI_BASE_URL", model),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

fn claude(project: &Path) -> String {
    json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "numStartups": 5,
        "bypassPermissionsModeAccepted": true,
        "customApiKeyResponses": {"approved": [LAB_API_KEY], "rejected": []},
        "projects": {project.display().to_string(): {
            "hasTrustDialogAccepted": true,
            "hasCompletedProjectOnboarding": true,
            "allowedTools": [],
        }},
    })
    .to_string()
}

/// Returns the configuration of Codex. Plugins are disabled because Codex tries to download a list of plugins; offline,
/// it waits five seconds for that list before it exits. Compression is disabled because the scripted model reads plain
/// JSON.
fn codex(project: &Path, model: &str) -> String {
    let project = project.display();
    format!(
        r#"model = "gpt-5"
model_provider = "lab"
check_for_update_on_startup = false

[model_providers.lab]
name = "lab"
base_url = "{model}/v1"
wire_api = "responses"
env_key = "LAB_KEY"

[features]
plugins = false
enable_request_compression = false

[analytics]
enabled = false

[projects."{project}"]
trust_level = "trusted"
"#
    )
}

fn gemini() -> String {
    json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "general": {
            "enableAutoUpdate": false,
            "disableAutoUpdate": true,
            "enableAutoUpdateNotification": false,
        },
        "model": {"name": "gemini-2.5-flash"},
    })
    .to_string()
}

fn write(path: &Path, text: &str) {
    let directory = path.parent().expect("a file is in a directory");
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(path, text))
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
