//! Provides a tool to Claude Code that is a function of this process.
//!
//! cargo run -p wh-claude --example mcp_tool -- "how much is 21 doubled? use the desk"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::process::ExitCode;

use serde_json::json;
use wh_claude::{ClaudeClient, Error, LocalMcpServer, Options, PermissionResult};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "how much is 21 doubled? use the desk".to_owned());
    let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
    let desk = LocalMcpServer::new("desk", "1.0").tool("double", "Doubles a number", schema, |input| async move {
        // The model receives the error and can try again.
        let number = input["number"].as_i64().ok_or("the number is missing")?;
        println!("(doubling {number})");
        Ok((number * 2).to_string().into())
    });
    let options = Options::new().mcp_server(desk).can_use_tool(|tool| async move {
        match tool.tool_name.starts_with("mcp__desk__") {
            true => PermissionResult::allow(tool.input),
            false => PermissionResult::deny("only tools of the desk server are allowed"),
        }
    });
    let mut claude = ClaudeClient::connect(&options).await?;
    println!("{}", claude.prompt(text).await?.text().await?);
    claude.close().await;
    Ok(())
}
