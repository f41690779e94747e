//! Asks the user at the terminal before a tool runs.
//!
//! cargo run -p wh-claude --example permission -- "write a poem into poem.txt"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::process::ExitCode;

use wh_claude::{CanUseTool, ClaudeClient, Error, Options, PermissionResult};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "write a poem into poem.txt".to_owned());
    let mut claude = ClaudeClient::connect(&Options::new().can_use_tool(ask)).await?;
    println!("{}", claude.prompt(text).await?.text().await?);
    claude.close().await;
    Ok(())
}

/// Asks on a blocking thread, so that other requests are still served while the user decides.
async fn ask(tool: CanUseTool) -> PermissionResult {
    println!("{} wants to run with {}. Allow it? [y/N]", tool.tool_name, tool.input);
    let answer = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    match answer.await {
        Ok(Ok(line)) if line.trim() == "y" => PermissionResult::allow(tool.input),
        _ => PermissionResult::deny("denied by the user"),
    }
}
