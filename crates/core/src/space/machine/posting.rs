//! Envelopes that a participant posts and that have no command of their own; see [`crate::posted`].

use serde_json::{Value, json};

use super::super::command::SpaceRefusal;
use super::super::event::SpaceEvent;
use super::super::harness::Tool;
use super::super::item::ItemBody;
use super::super::name::ParticipantId;
use super::SpaceMachine;
use super::commands::{CommandCompletion, CommandOutcome};
use crate::receipt::ReceiptStage;
use crate::request::RequestId;

impl SpaceMachine {
    /// Adds a posted envelope to the conversation. Applies a `participant/status` to the sender, and answers an
    /// `mcp/request` for the tools of a participant.
    pub(super) fn post(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        kind: String,
        payload: Value,
        to: Option<Vec<ParticipantId>>,
    ) -> CommandOutcome {
        let asked = to.as_deref().and_then(<[_]>::first).filter(|_| kind == "mcp/request").cloned();
        let tools =
            asked.map(|participant| self.listed_tools(&participant).map(|tools| (participant, tools))).transpose()?;
        self.accept(id);
        if kind == "participant/status" {
            let text = |field: &str| payload[field].as_str().map(str::to_owned);
            let (status, summary) = (text("status").unwrap_or_default(), text("summary"));
            self.publish(SpaceEvent::StatusReported { by: by.clone(), status, summary });
        }
        let request = self.put_complete('m', by.clone(), to, ItemBody::Act { kind, payload, about: vec![] });
        if let Some((participant, tools)) = tools {
            self.act(participant, "mcp/response", json!({ "result": { "tools": tools } }), vec![request]);
        }
        self.reach(id, ReceiptStage::Finished);
        Ok(CommandCompletion::Immediate(Vec::new()))
    }

    fn listed_tools(&self, participant: &ParticipantId) -> Result<Vec<Value>, SpaceRefusal> {
        let one = self.state.participants.get(participant).filter(|one| one.present);
        let one = one.ok_or_else(|| SpaceRefusal::NoSuchParticipant(participant.to_string()))?;
        let tool = |tool: &Tool| json!({ "name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.input_schema });
        Ok(one.tools.iter().map(tool).collect())
    }
}
