//! Reports messages, thoughts and tool calls of the demo agent. A message or thought grows word by word and is then
//! completed.

use wh_core::space::harness::{HarnessKey, Report};
use wh_core::space::item::{Attachment, ItemBody, ToolCall, ToolResultPart, ToolStatus};

use super::memory::tokens;
use super::stage::{DemoTask, TrickResult};

/// Tool call with the key under which it is reported.
pub(super) struct ToolCard {
    key: HarnessKey,
    pub call: ToolCall,
}

impl DemoTask {
    /// Sends a Markdown message word by word.
    pub async fn speak(&mut self, text: &str) -> TrickResult<HarnessKey> {
        self.speak_in(text.split_inclusive(char::is_whitespace), 1, Vec::new()).await
    }

    /// Sends a message piece by piece. Before each piece, waits for `words` times the time per word.
    pub async fn speak_in<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a str> + Send,
        words: u32,
        attachments: Vec<Attachment>,
    ) -> TrickResult<HarnessKey> {
        let key = self.key("text");
        let mut text = String::new();
        let body = |text: &str, attachments| ItemBody::Text { text: text.to_owned(), attachments };
        self.say(Report::Item { key: key.clone(), body: body("", Vec::new()), done: false }).await?;
        for piece in pieces {
            self.wait_words(words).await?;
            self.say(Report::Grew { key: key.clone(), text: piece.to_owned(), tokens: None }).await?;
            self.memory.spend(tokens(piece));
            text.push_str(piece);
        }
        self.say(Report::Item { key: key.clone(), body: body(&text, attachments), done: true }).await?;
        Ok(key)
    }

    /// Reports a thought about an action, word by word.
    pub async fn think(&mut self, action: &str, thought: &str) -> TrickResult {
        let key = self.key("thought");
        let body = |text: &str, tokens| ItemBody::Thought {
            text: text.to_owned(),
            action: Some(action.to_owned()),
            tokens: Some(tokens),
        };
        let (mut text, mut cost) = (String::new(), 0);
        self.say(Report::Item { key: key.clone(), body: body("", 0), done: false }).await?;
        for word in thought.split_inclusive(char::is_whitespace) {
            self.wait_words(2).await?;
            cost += tokens(word);
            self.say(Report::Grew { key: key.clone(), text: word.to_owned(), tokens: Some(cost) }).await?;
            self.memory.spend(tokens(word));
            text.push_str(word);
        }
        self.say(Report::Item { key, body: body(&text, cost), done: true }).await
    }

    /// Reports a new tool call.
    pub async fn show(&mut self, call: ToolCall) -> TrickResult<ToolCard> {
        let card = ToolCard { key: self.key("tool"), call };
        self.update(&card).await?;
        Ok(card)
    }

    /// Sets the status of a tool call and reports the call.
    pub async fn set_status(&mut self, card: &mut ToolCard, status: ToolStatus) -> TrickResult {
        card.call.status = status;
        self.update(card).await
    }

    /// Appends text to the output of a tool call and reports the text.
    pub async fn print(&mut self, card: &mut ToolCard, text: &str) -> TrickResult {
        self.say(Report::Grew { key: card.key.clone(), text: text.to_owned(), tokens: None }).await?;
        match card.call.output.last_mut() {
            Some(ToolResultPart::Text(known)) => known.push_str(text),
            _ => card.call.output.push(ToolResultPart::Text(text.to_owned())),
        }
        Ok(())
    }

    /// Completes a tool call with this status. If there is an output, it is appended to the call.
    pub async fn finish(
        &mut self,
        mut card: ToolCard,
        status: ToolStatus,
        output: Option<ToolResultPart>,
    ) -> TrickResult {
        card.call.output.extend(output);
        self.set_status(&mut card, status).await
    }

    async fn update(&mut self, card: &ToolCard) -> TrickResult {
        let (body, done) = (ItemBody::Tool(card.call.clone()), card.call.status.is_over());
        self.say(Report::Item { key: card.key.clone(), body, done }).await
    }
}
