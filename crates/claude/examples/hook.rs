//! Blocks commands that delete, whatever the permissions say.
//!
//! cargo run -p wh-claude --example hook -- "delete all files here"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example speaks to whoever runs it")]

use std::process::ExitCode;

use serde_json::{Value, json};
use wh_claude::{Client, Error, HookOutput, Options};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        // Where Claude Code is not installed, this says how to.
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let text = std::env::args().nth(1).unwrap_or_else(|| "delete all files here".to_owned());
    let options = Options::new().hook("PreToolUse", Some("Bash"), |input| async move { judge(&input) });
    let mut claude = Client::connect(&options).await?;
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
        "permissionDecisionReason": "nothing is deleted here",
    });
    HookOutput { hook_specific_output: Some(verdict), ..HookOutput::default() }
}
