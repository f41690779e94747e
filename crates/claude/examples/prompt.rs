//! Sends a prompt to Claude Code and prints the answer as it is streamed.
//!
//! cargo run -p wh-claude --example prompt -- "hello"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its results")]

use std::io::Write;
use std::process::ExitCode;

use wh_claude::protocol::{Delta, StreamEvent};
use wh_claude::{ClaudeClient, ClaudeMessage, Error, Options};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "hello".to_owned());
    let mut claude = ClaudeClient::connect(&Options::new()).await?;
    let mut turn = claude.prompt(text).await?;
    while let Some(message) = turn.next().await {
        match message? {
            ClaudeMessage::Stream(part) => {
                if let StreamEvent::BlockDelta { delta: Delta::Text(words), .. } = part.event {
                    print!("{words}");
                    // The turn continues even if standard output is closed.
                    let _ = std::io::stdout().flush();
                }
            }
            ClaudeMessage::Result(result) => {
                println!("\n({:.1} s, ${:.4})", result.duration_ms / 1000.0, result.total_cost_usd)
            }
            _ => {}
        }
    }
    claude.close().await;
    Ok(())
}
