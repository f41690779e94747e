//! Claude Code as a library: the program that is installed as `claude`, driven by its control protocol.
//!
//! A [`Client`] is a conversation: [`prompt`](Client::prompt) gives a [`Turn`] whose messages are read as they come. What
//! Claude Code asks in between (may this tool run? what says the hook?) is answered by the callbacks in [`Options`], each
//! in a task of its own. A [`Connection`] is the line below that, for those who want every event and answer questions in
//! their own time.
//!
//! ```no_run
//! use wh_claude::{Client, Options, PermissionResult};
//!
//! # async fn example() -> Result<(), wh_claude::Error> {
//! let options = Options::new().model("sonnet").can_use_tool(|ask| async move {
//!     match ask.tool_name.as_str() {
//!         "Read" | "Grep" => PermissionResult::allow(ask.input),
//!         other => PermissionResult::deny(format!("{other} is not allowed here")),
//!     }
//! });
//! let mut claude = Client::connect(&options).await?;
//! let answer = claude.prompt("What does this project do?").await?.text().await?;
//! println!("{answer}");
//! claude.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Nothing of Wheelhouse's terminal or user interface comes along with this crate: it stands on `wh-wire` (what is said)
//! and `wh-pipe` (how a program is spoken to). Wheelhouse's own harness for Claude Code is a user of it.

/// What the guide shows compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/claude-sdk.md")]
struct Guide;

mod chance;
mod client;
mod connection;
mod control;
mod error;
mod handlers;
mod mcp;
mod options;

pub use chance::uuid as message_id;
pub use client::{Client, Turn};
pub use connection::{Connection, Event, Events, Frame, StreamJson};
pub use error::Error;
pub use mcp::{McpServer, ToolOutput};
pub use options::{Options, Resume, mode_name};
pub use wh_pipe::{Closed, Exit};
/// Everything that is said on the wire.
pub use wh_wire::claude as protocol;
pub use wh_wire::claude::{
    CanUseTool, ContentBlock, Elicitation, ElicitationAction, ElicitationResult, HookOutput, InitializeReply, Message,
    PermissionMode, PermissionResult, TurnResult,
};
