//! Blocks shell commands that delete files, regardless of the permission mode.
//!
//! cargo run -p wh-claude --example hook -- "delete all files here"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::process::ExitCode;

use serde_json::{Value, json};
use wh_claude::{ClaudeClient, Error, HookOutput, Options};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        // If Claude Code is not installed, the error says how to install it.
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "delete all files here".to_owned());
    let options = Options::new().hook("PreToolUse", Some("Bash"), |input| async move { judge(&input) });
    let mut claude = ClaudeClient::connect(&options).await?;
    println!("{}", claude.prompt(text).await?.text().await?);
    claude.close().await;
    Ok(())
}

fn judge(input: &Value) -> HookOutput {
    let command = input["tool_input"]["command"].as_str().unwrap_or_default();
    if !command.split_whitespace().any(|word| word == "rm") {
        return HookOutput::default();
    }
    println!("(blocked: {command})");
    let verdict = json!({
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "deleting files is not allowed here",
    });
    HookOutput { hook_specific_output: Some(verdict), ..HookOutput::default() }
}
