//! Envelopes that a participant posts and that no other command stands for; see [`crate::posted`].

use serde_json::{Value, json};

use super::super::command::Refusal;
use super::super::event::Event;
use super::super::harness::Tool;
use super::super::item::Body;
use super::super::name::ParticipantId;
use super::Space;
use super::commands::{Came, Outcome};
use crate::receipt::Stage;
use crate::request::RequestId;

impl Space {
    /// Puts an envelope that states something, or that is answered from what is known of a participant.
    pub(super) fn post(
        &mut self,
        by: &ParticipantId,
        id: &RequestId,
        kind: String,
        payload: Value,
        to: Option<Vec<ParticipantId>>,
    ) -> Outcome {
        let asked = to.as_deref().and_then(<[_]>::first).filter(|_| kind == "mcp/request").cloned();
        let tools = asked.map(|whom| self.listed_tools(&whom).map(|tools| (whom, tools))).transpose()?;
        self.accept(id);
        if kind == "participant/status" {
            let text = |field: &str| payload[field].as_str().map(str::to_owned);
            let (status, summary) = (text("status").unwrap_or_default(), text("summary"));
            self.publish(Event::Said { by: by.clone(), status, summary });
        }
        let request = self.whole('m', by.clone(), to, Body::Act { kind, payload, about: vec![] });
        if let Some((whom, tools)) = tools {
            self.act(whom, "mcp/response", json!({ "result": { "tools": tools } }), vec![request]);
        }
        self.reach(id, Stage::Finished);
        Ok(Came::To(Vec::new()))
    }

    fn listed_tools(&self, whom: &ParticipantId) -> Result<Vec<Value>, Refusal> {
        let one = self.state.participants.get(whom).filter(|one| one.present);
        let one = one.ok_or_else(|| Refusal::NoSuchParticipant(whom.to_string()))?;
        let tool = |tool: &Tool| json!({ "name": tool.name, "title": tool.title, "description": tool.description, "inputSchema": tool.input_schema });
        Ok(one.tools.iter().map(tool).collect())
    }
}
