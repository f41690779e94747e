//! Gives Claude Code a tool that is a function of this process.
//!
//! cargo run -p wh-claude --example mcp_tool -- "how much is 21 doubled? use the desk"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example speaks to whoever runs it")]

use std::process::ExitCode;

use serde_json::json;
use wh_claude::{Client, Error, McpServer, Options, PermissionResult};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "how much is 21 doubled? use the desk".to_owned());
    let schema = json!({"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]});
    let desk = McpServer::new("desk", "1.0").tool("double", "Doubles a number", schema, |input| async move {
        // An error is told to the model, which can try again.
        let number = input["number"].as_i64().ok_or("the number is missing")?;
        println!("(doubling {number})");
        Ok((number * 2).to_string().into())
    });
    let options = Options::new().mcp_server(desk).can_use_tool(|tool| async move {
        match tool.tool_name.starts_with("mcp__desk__") {
            true => PermissionResult::allow(tool.input),
            false => PermissionResult::deny("only the desk's tools, please"),
        }
    });
    let mut claude = Client::connect(&options).await?;
    println!("{}", claude.prompt(text).await?.text().await?);
    claude.close().await;
    Ok(())
}
