//! Actions that the driver's machine leaves to the driver.

use serde_json::Value;
use wh_core::space::TurnId;
use wh_core::space::harness::Report;

use super::outbox::FramePurpose;
use super::protocol::{Protocol, ProtocolFrame};
use crate::interface::BoxFuture;

/// Background call with its id, to report the result.
pub(crate) type BackgroundCall = (u64, BoxFuture<'static, Result<Value, String>>);

/// Actions for the driver after one input. The driver queues the frames, then starts the background calls, then sends
/// the reports.
pub(crate) struct MachineOutput<P: Protocol> {
    pub frames: Vec<(ProtocolFrame<P>, FramePurpose<P>)>,
    pub background_calls: Vec<BackgroundCall>,
    pub reports: Vec<Report>,
    /// Turns whose prompts must be removed from the queue of frames.
    pub discards: Vec<TurnId>,
    /// True if the driver must replace the process.
    pub reconnects: bool,
    /// Set if the agent can no longer be used. Contains the reason.
    pub fatal: Option<String>,
}

impl<P: Protocol> Default for MachineOutput<P> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            background_calls: Vec::new(),
            reports: Vec::new(),
            discards: Vec::new(),
            reconnects: false,
            fatal: None,
        }
    }
}
