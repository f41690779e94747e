//! How the demo agent speaks, thinks and shows what its hands do: items that grow word by word and are then put whole.

use wh_core::space::harness::{Key, Report};
use wh_core::space::item::{Attachment, Body, Output, ToolCall, ToolStatus};

use super::memory::tokens;
use super::stage::{Act, Stage};

/// A tool call as it is shown.
pub(super) struct Card {
    key: Key,
    pub call: ToolCall,
}

impl Stage {
    /// Says something in Markdown, word by word.
    pub async fn speak(&mut self, text: &str) -> Act<Key> {
        self.speak_in(text.split_inclusive(char::is_whitespace), 1, Vec::new()).await
    }

    /// Says something in these pieces, each of which takes as long as so many words.
    pub async fn speak_in<'a>(
        &mut self,
        pieces: impl Iterator<Item = &'a str> + Send,
        words: u32,
        attachments: Vec<Attachment>,
    ) -> Act<Key> {
        let key = self.key("text");
        let mut text = String::new();
        let body = |text: &str, attachments| Body::Text { text: text.to_owned(), attachments };
        self.say(Report::Item { key: key.clone(), body: body("", Vec::new()), done: false }).await?;
        for piece in pieces {
            self.rest(words).await?;
            self.say(Report::Grew { key: key.clone(), text: piece.to_owned(), tokens: None }).await?;
            self.memory.spend(tokens(piece));
            text.push_str(piece);
        }
        self.say(Report::Item { key: key.clone(), body: body(&text, attachments), done: true }).await?;
        Ok(key)
    }

    /// Thinks aloud about what it is going to do.
    pub async fn think(&mut self, action: &str, thought: &str) -> Act {
        let key = self.key("thought");
        let body = |text: &str, tokens| Body::Thought {
            text: text.to_owned(),
            action: Some(action.to_owned()),
            tokens: Some(tokens),
        };
        let (mut text, mut cost) = (String::new(), 0);
        self.say(Report::Item { key: key.clone(), body: body("", 0), done: false }).await?;
        for word in thought.split_inclusive(char::is_whitespace) {
            self.rest(2).await?;
            cost += tokens(word);
            self.say(Report::Grew { key: key.clone(), text: word.to_owned(), tokens: Some(cost) }).await?;
            self.memory.spend(tokens(word));
            text.push_str(word);
        }
        self.say(Report::Item { key, body: body(&text, cost), done: true }).await
    }

    /// Shows that a tool is about to be used.
    pub async fn show(&mut self, call: ToolCall) -> Act<Card> {
        let card = Card { key: self.key("tool"), call };
        self.update(&card).await?;
        Ok(card)
    }

    /// Shows how the use of a tool fares.
    pub async fn fare(&mut self, card: &mut Card, status: ToolStatus) -> Act {
        card.call.status = status;
        self.update(card).await
    }

    /// Adds text to what came of it.
    pub async fn print(&mut self, card: &mut Card, text: &str) -> Act {
        self.say(Report::Grew { key: card.key.clone(), text: text.to_owned(), tokens: None }).await?;
        match card.call.output.last_mut() {
            Some(Output::Text(known)) => known.push_str(text),
            _ => card.call.output.push(Output::Text(text.to_owned())),
        }
        Ok(())
    }

    /// Shows how it ended, and with what.
    pub async fn finish(&mut self, mut card: Card, status: ToolStatus, output: Option<Output>) -> Act {
        card.call.output.extend(output);
        self.fare(&mut card, status).await
    }

    async fn update(&mut self, card: &Card) -> Act {
        let (body, done) = (Body::Tool(card.call.clone()), card.call.status.is_over());
        self.say(Report::Item { key: card.key.clone(), body, done }).await
    }
}
