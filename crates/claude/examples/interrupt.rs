//! Interrupts a turn after three seconds and continues the conversation.
//!
//! cargo run -p wh-claude --example interrupt -- "count to a thousand"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::process::ExitCode;
use std::time::Duration;

use wh_claude::{ClaudeClient, Error, Options};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "count to a thousand".to_owned());
    let mut claude = ClaudeClient::connect(&Options::new()).await?;
    // A clone of the connection can send requests while the turn is read.
    let line = claude.connection().clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        if let Err(error) = line.interrupt().await {
            eprintln!("{error}");
        }
    });
    let result = claude.prompt(text).await?.result().await?;
    println!("{}", if result.is_aborted() { "interrupted" } else { "completed" });
    println!("{}", claude.prompt("where were we?").await?.text().await?);
    claude.close().await;
    Ok(())
}
