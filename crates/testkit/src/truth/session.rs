//! Session of the trial: a wh process that runs the agent's own terminal UI, and a person at its keyboard.

use std::fmt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{HostileMoment, TruthTrial, judge};
use crate::http::{TestRequest, TestResponse};
use crate::interrupts::LabAgent;
use crate::{Lab, Wh, deadline};

/// Timeout for a message to reach the model after the moment has passed, and for the agent to become idle.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(45);

/// Timeout for typed text to appear on the screen.
const ECHO_TIMEOUT: Duration = Duration::from_secs(10);

/// Time between typed text and Enter, in which every agent takes Enter for a key.
const ENTER_DELAY: Duration = Duration::from_millis(400);

/// Time after naive input in which its effects appear.
const NAIVE_SETTLE_DELAY: Duration = Duration::from_millis(3500);

/// Size of the agent's terminal.
const TERMINAL_SIZE: &str = "100x32";

/// Reply to a message, or the end of its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessageReply {
    /// Refused with this status and body.
    Refused(String),
    /// Accepted, then failed for this reason.
    Failed(String),
    Finished,
    /// Accepted, and not final; the last stage.
    Open(String),
    /// Typed, without a receipt.
    Typed,
}

impl fmt::Display for MessageReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => write!(formatter, "refused: {why}"),
            Self::Failed(why) => write!(formatter, "failed: {why}"),
            Self::Finished => formatter.write_str("finished"),
            Self::Open(stage) => write!(formatter, "the receipt stays {stage}"),
            Self::Typed => formatter.write_str("typed"),
        }
    }
}

/// Message of the trial, with all that was observed of it.
#[derive(Debug, Clone)]
pub(super) struct JudgedMessage {
    pub moment: HostileMoment,
    /// Unique word in the text.
    pub marker: String,
    pub text: String,
    pub id: String,
    pub reply: MessageReply,
    /// True if the message had not arrived when the moment passed.
    pub waited: bool,
    /// True if the command of an open question ran.
    pub executed: bool,
    /// True if the draft of the person was changed or sent.
    pub touched: bool,
    /// Screen after the message.
    pub screen: String,
}

impl JudgedMessage {
    pub fn new(moment: HostileMoment, marker: &str, text: String) -> Self {
        Self {
            moment,
            marker: marker.to_owned(),
            text,
            id: format!("truth-{marker}"),
            reply: MessageReply::Typed,
            waited: false,
            executed: false,
            touched: false,
            screen: String::new(),
        }
    }

    pub fn summary(&self) -> String {
        let mut text = format!("{} {}", self.marker, self.reply);
        for (is, what) in
            [(self.waited, "waited"), (self.executed, "PERMISSION EXECUTED"), (self.touched, "DRAFT TOUCHED")]
        {
            if is {
                text.push_str(", ");
                text.push_str(what);
            }
        }
        text
    }
}

/// A wh process with the agent's terminal UI.
pub(super) struct TruthSession<'a> {
    pub lab: &'a Lab,
    pub agent: LabAgent,
    /// True if messages are typed as text and Enter, and wh knows only a terminal.
    pub naive: bool,
    wh: Wh,
}

impl<'a> TruthSession<'a> {
    pub fn start(trial: &TruthTrial, lab: &'a Lab, naive: bool) -> Self {
        let id = trial.agent.id();
        let known = if naive { "none" } else { id };
        let options = Wh::options(&trial.wh).environment(lab.env()).directory(&lab.project);
        let options = options.env("WH_LOG", std::env::var("WH_LOG").unwrap_or_else(|_| "warn".to_owned()));
        let wh = options.flags(&["--size", TERMINAL_SIZE, "--as", known]).start(&["--", id]);
        Self { lab, agent: trial.agent, naive, wh }
    }

    pub fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.wh.send(&TestRequest::post_json(path, body))
    }

    /// Types text as a person, without Enter. Returns false if wh refuses the text.
    pub fn type_text(&self, text: &str) -> bool {
        self.post("/control/send_input", &json!({ "text": text })).status == 200
    }

    /// Presses a key as a person.
    pub fn key(&self, key: &str) {
        self.post("/control/send_input", &json!({ "key": key }));
    }

    pub fn screen(&self) -> String {
        self.wh.get("/control/screen").json()["plain"].as_str().unwrap_or_default().to_owned()
    }

    /// Screen without blanks and line breaks, to find wrapped text.
    pub fn squeezed_screen(&self) -> String {
        let screen = self.screen();
        screen.chars().filter(|character| !character.is_whitespace() && !"│▏▕".contains(*character)).collect()
    }

    /// State and screen, for the report of a fault.
    pub fn view(&self) -> String {
        format!("{}\n{}", self.state(), self.screen())
    }

    pub fn state(&self) -> Value {
        if self.naive { Value::Null } else { self.wh.get("/control/state").json()["sessions"][self.agent.id()].clone() }
    }

    /// Waits until the screen contains the text. Returns false after a timeout.
    pub fn sees(&self, text: &str) -> bool {
        let text: String = text.chars().filter(|character| !character.is_whitespace()).collect();
        deadline::wait_until(ECHO_TIMEOUT, || self.squeezed_screen().contains(&text).then_some(())).is_some()
    }

    /// Types a line and presses Enter as a person, slowly enough for every agent.
    pub fn person_line(&self, line: &str) {
        self.type_text(line);
        self.sees(line);
        sleep(ENTER_DELAY);
        self.key("enter");
    }

    /// Waits until the model has received a prompt with this word. Returns false after a timeout.
    pub fn asked_model(&self, word: &str) -> bool {
        deadline::wait_until(ECHO_TIMEOUT, || (!self.lab.model.streams(word).is_empty()).then_some(())).is_some()
    }

    /// Waits until the agent is idle. Returns false after a timeout.
    pub fn wait_until_idle(&self) -> bool {
        if self.naive {
            let ready =
                |screen: &str| ["? for shortcuts", "Type your message"].iter().any(|hint| screen.contains(hint));
            let idle = deadline::wait_until(SETTLE_TIMEOUT, || ready(&self.screen()).then_some(())).is_some();
            sleep(Duration::from_secs(1));
            return idle;
        }
        deadline::wait_until(SETTLE_TIMEOUT, || (self.state()["status"] == "idle").then_some(())).is_some()
    }

    /// Tries to make an agent idle that is not.
    pub fn recover(&self) {
        self.key("escape");
        sleep(Duration::from_millis(500));
        self.clear_draft();
        self.wait_until_idle();
    }

    /// Removes the text of the composer as a person would.
    pub fn clear_draft(&self) {
        for _ in 0..3 {
            self.key("ctrl+u");
            sleep(Duration::from_millis(60));
        }
    }

    /// Waits until naive input has had its effects.
    pub fn wait_for_silence(&self) {
        sleep(NAIVE_SETTLE_DELAY);
    }

    /// Sends a message. A message that is refused because the agent is starting is sent again.
    pub fn send(&self, message: &mut JudgedMessage, literal: bool) {
        if self.naive {
            self.post("/control/send_input", &json!({ "text": message.text, "key": "enter" }));
            return;
        }
        let mut body = json!({ "message": message.text, "request_id": message.id });
        if literal {
            body["literal"] = json!(true);
        }
        let answer = deadline::wait_until(SETTLE_TIMEOUT, || {
            let answer = self.post("/message", &body);
            if answer.status == 503 {
                message.waited = true;
                return None;
            }
            Some(answer)
        });
        message.reply = match answer {
            Some(answer) if answer.status == 200 => MessageReply::Open("accepted".to_owned()),
            Some(answer) => MessageReply::Refused(format!("{} {}", answer.status, answer.text())),
            None => MessageReply::Refused("503".to_owned()),
        };
    }

    /// True if the model has received a text of the user that contains this word.
    pub fn has_received(&self, word: &str) -> bool {
        judge::received(&self.lab.model.requests()).iter().any(|text| text.contains(word))
    }

    pub fn has_arrived(&self, message: &JudgedMessage) -> bool {
        self.has_received(&message.marker)
    }

    /// Waits until the message has a final receipt, and records it with the screen.
    pub fn settle(&self, message: &mut JudgedMessage) {
        if self.naive {
            self.wait_for_silence();
        } else if matches!(message.reply, MessageReply::Open(_)) {
            let path = format!("/control/receipts/{}", message.id);
            deadline::wait_until(SETTLE_TIMEOUT, || {
                let receipt = self.wh.get(&path).json();
                let stage = receipt["stage"].as_str().unwrap_or("unknown").to_owned();
                message.reply = match stage.as_str() {
                    "finished" => MessageReply::Finished,
                    "failed" => MessageReply::Failed(receipt["reason"].as_str().unwrap_or_default().to_owned()),
                    _ => MessageReply::Open(stage),
                };
                let waits_for = self.state()["waitsFor"].as_str().map(str::to_owned);
                // Claude puts an interrupted prompt back into its composer. A person would remove it.
                if waits_for.is_some_and(|reason| reason.contains("draft")) {
                    message.waited = true;
                    self.clear_draft();
                }
                (!matches!(message.reply, MessageReply::Open(_))).then_some(())
            });
        }
        message.screen = self.view();
    }

    /// Returns a prompt for which the agent asks for permission to create this file in the project.
    pub fn permission_prompt(&self, name: &str) -> String {
        match self.agent {
            // Codex asks only for a command that leaves its sandbox.
            LabAgent::Codex => format!(
                r#"call: exec_command {{"cmd": "touch {name}", "sandbox_permissions": "require_escalated", "justification": "x"}}"#
            ),
            LabAgent::Claude | LabAgent::Gemini => format!("tool: touch {name}"),
        }
    }

    /// Returns the open questions.
    pub fn questions(&self) -> Value {
        self.wh.get("/control/questions").json()
    }

    /// Returns the file that a command of the agent creates.
    pub fn witness(&self, name: &str) -> PathBuf {
        self.lab.project.join(name)
    }
}
