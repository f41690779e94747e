//! Comparison of the sent messages with the log of the model and the transcript of the agent.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::Value;

use super::report::TruthRow;
use super::session::{JudgedMessage, MessageReply};
use super::transcript;
use crate::Lab;
use crate::interrupts::LabAgent;
use crate::model::LoggedRequest;

/// Outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The model received the text once and unchanged.
    Arrived,
    /// The message waited for the moment to pass, and then arrived once and unchanged.
    Waited,
    /// The message was refused or has failed with a reason, and did not arrive.
    Refused,
    /// The message was accepted, and neither arrived nor failed.
    Lost,
    /// The message arrived more than once.
    Doubled,
    /// The message arrived with another text.
    Changed,
    /// The message arrived, but its receipt says that it has failed.
    Denied,
}

/// Begin of a round, and the evidence of its end.
pub(super) struct RoundEvidence<'a> {
    lab: &'a Lab,
    agent: LabAgent,
    begun: SystemTime,
}

impl<'a> RoundEvidence<'a> {
    pub fn begin(lab: &'a Lab, agent: LabAgent) -> Self {
        lab.model.discard_requests();
        Self { lab, agent, begun: SystemTime::now() }
    }

    /// Counts the messages of the round by their outcome.
    pub fn judge(&self, sent: &[JudgedMessage], row: &mut TruthRow, faults: &mut Vec<String>) {
        let received = received(&self.lab.model.requests());
        let recorded = transcript::prompts(self.lab, self.agent, self.begun);
        for message in sent {
            let outcome = outcome(message, &received, &recorded, self.agent);
            row.add(message, outcome);
            let wrong = !matches!(outcome, MessageOutcome::Arrived | MessageOutcome::Waited | MessageOutcome::Refused);
            if wrong || message.executed || message.touched {
                let near: Vec<String> =
                    received.iter().filter(|text| text.contains(&message.marker)).map(|text| cut(text)).collect();
                faults.push(format!(
                    "{}, {}, {outcome:?}{}{}: sent {:?}, model received {near:?}, transcript has it {} times; {}\n{}",
                    self.agent.title(),
                    message.moment,
                    if message.executed { ", permission executed" } else { "" },
                    if message.touched { ", draft touched" } else { "" },
                    cut(&message.text),
                    count(&recorded, &message.marker),
                    message.reply,
                    message.screen,
                ));
            }
        }
    }
}

/// Returns the texts of the user in all conversations, each as often as one request contains it. Later requests repeat
/// the conversation, and the text of a request may follow the result of a tool.
pub(super) fn received(requests: &[LoggedRequest]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    // Requests that an agent makes itself, for example for a title, offer no tools.
    let conversations =
        requests.iter().filter(|request| request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    for request in conversations {
        let mut here: BTreeMap<&str, usize> = BTreeMap::new();
        user_texts(&request.body).into_iter().for_each(|text| *here.entry(text).or_default() += 1);
        for (text, count) in here {
            let known = counts.entry(text.to_owned()).or_default();
            *known = count.max(*known);
        }
    }
    counts.into_iter().flat_map(|(text, count)| std::iter::repeat_n(text, count)).collect()
}

/// Returns the texts of the user in a request, in the forms of all three vendors.
fn user_texts(body: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    for (list, content) in [("messages", "content"), ("input", "content"), ("contents", "parts")] {
        for message in body[list].as_array().into_iter().flatten().filter(|message| message["role"] == "user") {
            texts.extend(message[content].as_str());
            texts.extend(message[content].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()));
        }
    }
    texts
}

fn outcome(message: &JudgedMessage, received: &[String], recorded: &[String], agent: LabAgent) -> MessageOutcome {
    let texts: Vec<&String> = received.iter().filter(|text| text.contains(&message.marker)).collect();
    let is_refused = matches!(message.reply, MessageReply::Refused(_) | MessageReply::Failed(_));
    match texts.as_slice() {
        [] if is_refused => MessageOutcome::Refused,
        [] => MessageOutcome::Lost,
        [_, _, ..] => MessageOutcome::Doubled,
        // Gemini copies its conversation to the end of the file after a cancelled call.
        [_] if agent != LabAgent::Gemini && count(recorded, &message.marker) > 1 => MessageOutcome::Doubled,
        [text] if normal(text) != normal(&message.text) => MessageOutcome::Changed,
        [_] if is_refused => MessageOutcome::Denied,
        [_] if message.waited => MessageOutcome::Waited,
        [_] => MessageOutcome::Arrived,
    }
}

fn count(texts: &[String], marker: &str) -> usize {
    texts.iter().filter(|text| text.contains(marker)).count()
}

/// Text without blanks and line breaks at its ends, which all agents remove.
fn normal(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
}

/// Returns the beginning of a text.
pub(super) fn cut(text: &str) -> String {
    let short: String = text.chars().take(120).collect();
    if short.len() < text.len() { format!("{short}… ({} bytes)", text.len()) } else { short }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::truth::HostileMoment;

    fn message(reply: MessageReply, waited: bool) -> JudgedMessage {
        let mut message = JudgedMessage::new(HostileMoment::Idle, "m1x", "hello m1x".to_owned());
        (message.reply, message.waited) = (reply, waited);
        message
    }

    fn judged(message: &JudgedMessage, received: &[&str], recorded: &[&str]) -> MessageOutcome {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        outcome(message, &texts(received), &texts(recorded), LabAgent::Claude)
    }

    #[test]
    fn a_message_is_judged_by_the_texts_that_contain_its_marker() {
        let accepted = message(MessageReply::Finished, false);
        assert_eq!(judged(&accepted, &["x", "hello m1x\n"], &["hello m1x"]), MessageOutcome::Arrived);
        assert_eq!(judged(&accepted, &["draft hello m1x"], &[]), MessageOutcome::Changed);
        assert_eq!(judged(&accepted, &["hello m1x", "hello m1x"], &[]), MessageOutcome::Doubled);
        assert_eq!(judged(&accepted, &["hello m1x"], &["hello m1x", "hello m1x"]), MessageOutcome::Doubled);
        assert_eq!(judged(&accepted, &["x"], &[]), MessageOutcome::Lost);
        assert_eq!(judged(&message(MessageReply::Finished, true), &["hello m1x"], &[]), MessageOutcome::Waited);
    }

    #[test]
    fn a_repeated_conversation_counts_once() {
        let request = |texts: &[&str]| {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
            LoggedRequest {
                method: "POST".to_owned(),
                path: String::new(),
                headers: Vec::new(),
                body: json!({"messages": messages, "tools": [{"name": "Bash"}]}),
                prompt: None,
            }
        };
        assert_eq!(received(&[request(&["a"]), request(&["a", "b"]), request(&["a", "b", "b"])]), ["a", "b", "b"]);
        let parts = json!({"contents": [{"role": "user", "parts": [{"text": "x"}, {"functionResponse": {}}]}]});
        assert_eq!(user_texts(&parts), ["x"]);
    }

    #[test]
    fn a_refused_message_must_not_arrive() {
        let refused = message(MessageReply::Refused("no".to_owned()), false);
        assert_eq!(judged(&refused, &[], &[]), MessageOutcome::Refused);
        assert_eq!(judged(&refused, &["hello m1x"], &[]), MessageOutcome::Denied);
    }
}
