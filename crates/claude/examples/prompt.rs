//! Says something to Claude Code and shows the answer while it grows.
//!
//! cargo run -p wh-claude --example prompt -- "hello"
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example speaks to whoever runs it")]

use std::io::Write;
use std::process::ExitCode;

use wh_claude::protocol::{Delta, StreamEvent};
use wh_claude::{Client, Error, Message, Options};

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
    let text = std::env::args().nth(1).unwrap_or_else(|| "hello".to_owned());
    let mut claude = Client::connect(&Options::new()).await?;
    let mut turn = claude.prompt(text).await?;
    while let Some(message) = turn.next().await {
        match message? {
            Message::Stream(part) => {
                if let StreamEvent::BlockDelta { delta: Delta::Text(words), .. } = part.event {
                    print!("{words}");
                    // The answer is what counts: a reader who left does not stop it.
                    let _ = std::io::stdout().flush();
                }
            }
            Message::Result(result) => {
                println!("\n({:.1} s, ${:.4})", result.duration_ms / 1000.0, result.total_cost_usd)
            }
            _ => {}
        }
    }
    claude.close().await;
    Ok(())
}
