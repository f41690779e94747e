//! Async client for Claude Code. Starts the installed `claude` program and communicates with it over its control
//! protocol.
//!
//! This example allows Claude Code to read files, denies all other tools that need permission, and prints the answer to
//! one prompt:
//!
//! ```no_run
//! use wh_claude::{ClaudeClient, Options, PermissionResult};
//!
//! # async fn example() -> Result<(), wh_claude::Error> {
//! let options = Options::new().model("sonnet").can_use_tool(|ask| async move {
//!     match ask.tool_name.as_str() {
//!         "Read" | "Grep" => PermissionResult::allow(ask.input),
//!         other => PermissionResult::deny(format!("{other} is not allowed here")),
//!     }
//! });
//! let mut claude = ClaudeClient::connect(&options).await?;
//! let answer = claude.prompt("What does this project do?").await?.text().await?;
//! println!("{answer}");
//! claude.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! - [`ClaudeClient`] is a conversation. [`prompt`](ClaudeClient::prompt) returns a [`ClaudeTurn`], which returns the
//!   messages of the turn as they arrive.
//! - [`Options`] sets the program, the model and the permission mode, and registers callbacks for permission requests,
//!   hooks, tools of in-process MCP servers, and elicitations. Each callback runs in a separate task.
//! - [`Connection`] is the low-level interface: it returns every event, and answers questions by id.
//! - [`protocol`] contains the message types.
//!
//! The client requires a tokio runtime and an installed Claude Code (`npm install -g @anthropic-ai/claude-code`).
//! [`Error`] lists the possible failures.
#![warn(missing_docs)]

/// Compiles the examples in `docs/claude-sdk.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/claude-sdk.md")]
struct Guide;

mod client;
mod connection;
mod control;
mod error;
mod handlers;
mod mcp;
mod options;
mod random_id;

pub use client::{ClaudeClient, ClaudeTurn};
pub use connection::{ClaudeFrame, Connection, Event, Events, StreamJson};
pub use error::Error;
pub use mcp::{LocalMcpServer, ToolOutput};
pub use options::{Options, Resume, mode_name};
pub use random_id::uuid as message_id;
pub use wh_pipe::{Exit, ProgramExit};
/// Message types of the control protocol.
pub use wh_wire::claude as protocol;
pub use wh_wire::claude::{
    CanUseTool, ClaudeMessage, ContentBlock, Elicitation, ElicitationAction, ElicitationResult, HookOutput,
    InitializeReply, PermissionMode, PermissionResult, TurnResult,
};
