//! Hostile moments: what a person and the agent do while a message is sent, and the messages.

use std::fmt;
use std::thread::{self, sleep};
use std::time::Duration;

use serde_json::json;

use super::TrialProgress;
use super::session::{JudgedMessage, MessageReply, TruthSession};

/// Time for which a draft, a dialog or a picker stays after the message was sent.
const OBSTACLE_DURATION: Duration = Duration::from_millis(900);

/// Length of a large message.
const LARGE_MESSAGE_BYTES: usize = 100 * 1024;

/// Interval between two keys of a person who types.
const TYPING_INTERVAL: Duration = Duration::from_millis(60);

/// Maximum random time between the request for a tool and the message.
const MAX_OPENING_MILLIS: usize = 700;

/// Situation in which a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostileMoment {
    /// The agent is starting.
    Starting,
    /// The agent waits for a prompt.
    Idle,
    /// The agent works on a prompt that a person has typed.
    Working,
    /// A question for permission is open.
    DialogOpen,
    /// A question for permission is about to open.
    DialogOpening,
    /// A draft of a person is in the composer.
    Draft,
    /// A person types a draft when the message is sent.
    Typing,
    /// A person has just pressed Escape, while the agent works or while it is idle.
    AfterEscape,
    /// The list of models is open.
    Picker,
    /// Two clients send at the same time.
    TwoClients,
    /// The message has 100 KB.
    Large,
    /// The message has several lines.
    MultiLine,
    /// The message begins with this character and is literal.
    Literal(char),
    /// The message begins with this character.
    First(char),
    /// The message is sent several times with the same id.
    Retried,
}

impl fmt::Display for HostileMoment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Working => "working",
            Self::DialogOpen => "dialog open",
            Self::DialogOpening => "dialog opening",
            Self::Draft => "draft",
            Self::Typing => "person typing",
            Self::AfterEscape => "after Escape",
            Self::Picker => "picker",
            Self::TwoClients => "two clients",
            Self::Large => "100 KB",
            Self::MultiLine => "multi-line",
            Self::Literal(first) => return write!(formatter, "literal `{first}`"),
            Self::First(first) => return write!(formatter, "first `{first}`"),
            Self::Retried => "retried id",
        };
        formatter.write_str(name)
    }
}

impl HostileMoment {
    /// All moments, in the order of a round.
    pub fn all() -> Vec<Self> {
        let firsts = ['/', '!', '@', '#', '&', '?'];
        let mut moments = vec![
            Self::Starting,
            Self::Idle,
            Self::Working,
            Self::DialogOpen,
            Self::Draft,
            Self::MultiLine,
            Self::AfterEscape,
            Self::Picker,
            Self::Typing,
            Self::TwoClients,
            Self::DialogOpening,
            Self::Large,
            Self::Retried,
        ];
        moments.extend(firsts.map(Self::Literal));
        moments.extend(firsts.map(Self::First));
        moments
    }

    /// Moments of a short round of twenty messages, with every situation and every first character.
    pub fn short() -> Vec<Self> {
        let literal = |moment: &Self| matches!(moment, Self::Literal(first) if ['/', '!'].contains(first));
        let first = |moment: &Self| matches!(moment, Self::First(first) if !['/', '!'].contains(first));
        let other = |moment: &Self| !matches!(moment, Self::Literal(_) | Self::First(_));
        Self::all().into_iter().filter(|moment| literal(moment) || first(moment) || other(moment)).collect()
    }

    /// Brings the moment about, sends the messages, lets the moment pass, and waits for the receipts.
    pub(super) fn perform(self, session: &mut TruthSession<'_>, progress: &mut TrialProgress) -> Vec<JudgedMessage> {
        progress.number += 1;
        let number = progress.number;
        let marker = format!("zq{number}x");
        let mut message = JudgedMessage::new(self, &marker, self.text(&marker, progress.round));
        match self {
            Self::Working => {
                session.person_line(&format!("slow: 25 of w{number}w"));
                session.asked_model(&format!("w{number}w"));
                session.send(&mut message, false);
                sleep(OBSTACLE_DURATION);
                message.waited = !session.has_arrived(&message);
            }
            Self::DialogOpen | Self::DialogOpening => self.during_dialog(session, progress, &mut message),
            Self::Draft => during_draft(session, number, &mut message),
            Self::Typing => while_typing(session, number, &mut message),
            Self::AfterEscape => {
                if progress.round.is_multiple_of(2) {
                    session.person_line(&format!("slow: 60 of w{number}w"));
                    session.asked_model(&format!("w{number}w"));
                    sleep(Duration::from_millis(progress.random.below(1500) as u64));
                }
                session.key("escape");
                session.send(&mut message, false);
            }
            Self::Picker => {
                session.person_line("/model");
                sleep(Duration::from_millis(700));
                session.send(&mut message, false);
                sleep(OBSTACLE_DURATION);
                message.waited = !session.has_arrived(&message);
                session.key("escape");
            }
            Self::TwoClients => return two_clients(session, number, message),
            Self::Retried => retried(session, &mut message),
            Self::Literal(_) => session.send(&mut message, true),
            Self::Starting | Self::Idle | Self::Large | Self::MultiLine | Self::First(_) => {
                session.send(&mut message, false);
            }
        }
        session.settle(&mut message);
        if matches!(self, Self::DialogOpen | Self::DialogOpening) {
            message.executed |= session.witness(&format!("witness{number}")).exists();
        }
        vec![message]
    }

    /// Text of the message. Some moments send other texts in every round.
    fn text(self, marker: &str, round: usize) -> String {
        match self {
            Self::Literal(first) | Self::First(first) => format!("{first}{marker} is the text"),
            Self::MultiLine if round.is_multiple_of(2) => {
                format!("first {marker}\nsecond\n\n  third, indented\nfourth")
            }
            Self::MultiLine => {
                let lines: Vec<String> = (0..40).map(|line| format!("line {line} of {marker}l")).collect();
                format!("{marker}\n{}", lines.join("\n").replace(&format!("{marker}l"), "many"))
            }
            Self::Large if round.is_multiple_of(2) => {
                let line = "The quick brown fox jumps over the lazy dog, again and again. ";
                format!("{marker} {}", line.repeat(LARGE_MESSAGE_BYTES / line.len()))
            }
            Self::Large => {
                let line = "The quick brown fox jumps over the lazy dog, again and again.\n";
                format!("{marker} {}", line.repeat(LARGE_MESSAGE_BYTES / line.len()))
            }
            _ => match round % 4 {
                0 => format!("please note {marker}"),
                1 => format!("naïve “quotes”, emoji 👍🏽 and 漢字 for {marker}"),
                2 => format!("two lines\nof {marker}"),
                _ => format!(
                    "yes {marker}, a text that a composer of 100 columns wraps, as it does with most texts of other programs"
                ),
            },
        }
    }

    fn during_dialog(self, session: &TruthSession<'_>, progress: &mut TrialProgress, message: &mut JudgedMessage) {
        let witness = format!("witness{}", progress.number);
        session.person_line(&session.permission_prompt(&witness));
        session.asked_model(&witness);
        if self == Self::DialogOpen {
            let asks = || session.naive || session.state()["status"] == "waiting";
            crate::deadline::wait_until(Duration::from_secs(10), || asks().then_some(()));
            sleep(Duration::from_millis(if session.naive { 2000 } else { 100 }));
        } else {
            sleep(Duration::from_millis(progress.random.below(MAX_OPENING_MILLIS) as u64));
        }
        session.send(message, false);
        if self == Self::DialogOpening && !session.naive {
            let asks = || session.state()["status"] == "waiting";
            crate::deadline::wait_until(Duration::from_secs(10), || asks().then_some(()));
        }
        sleep(OBSTACLE_DURATION);
        message.executed = session.witness(&witness).exists();
        message.waited = !session.has_arrived(message);
        if !session.naive {
            deny(session, progress.round);
        }
    }
}

/// Denies the open question: by its id, or in every second round with Escape.
fn deny(session: &TruthSession<'_>, round: usize) {
    if round.is_multiple_of(2) {
        let questions = session.questions();
        let question = &questions["questions"][0];
        let options = question["options"].as_array().cloned().unwrap_or_default();
        let reject = options.iter().find(|option| option["kind"] == "reject_once");
        if let (Some(id), Some(option)) = (question["id"].as_str(), reject) {
            let answer = session.post("/control/answer", &json!({ "id": id, "option": option["id"] }));
            if answer.status == 200 {
                return;
            }
        }
    }
    session.key("escape");
}

/// Types a draft, sends the message, and removes the draft.
fn during_draft(session: &TruthSession<'_>, number: usize, message: &mut JudgedMessage) {
    let draft = format!("my own draft {number}d");
    session.type_text(&draft);
    session.sees(&draft);
    session.send(message, false);
    sleep(OBSTACLE_DURATION);
    message.waited = !session.has_arrived(message);
    message.touched = !is_untouched(session, &draft, message);
    session.clear_draft();
}

/// Types a draft key by key while the message is sent, and removes the draft.
fn while_typing(session: &TruthSession<'_>, number: usize, message: &mut JudgedMessage) {
    let draft = format!("slowly typed {number}d");
    thread::scope(|scope| {
        scope.spawn(|| {
            for letter in draft.chars() {
                session.type_text(&letter.to_string());
                sleep(TYPING_INTERVAL);
            }
        });
        sleep(Duration::from_millis(number as u64 * 37 % 400));
        session.send(message, false);
    });
    session.sees(&draft);
    sleep(OBSTACLE_DURATION);
    message.waited = !session.has_arrived(message);
    message.touched = !is_untouched(session, &draft, message);
    session.clear_draft();
}

/// True if the draft is on the screen, the text of a waiting message is not, and no model has received the draft.
fn is_untouched(session: &TruthSession<'_>, draft: &str, message: &JudgedMessage) -> bool {
    let squeezed: String = draft.chars().filter(|character| !character.is_whitespace()).collect();
    let sent = session.has_received(draft);
    let screen = session.squeezed_screen();
    let merged = message.waited && screen.contains(&message.marker);
    !sent && !merged && screen.contains(&squeezed)
}

/// Sends two messages at the same time.
fn two_clients(session: &TruthSession<'_>, number: usize, mut one: JudgedMessage) -> Vec<JudgedMessage> {
    let marker = format!("zr{number}x");
    let mut other = JudgedMessage::new(one.moment, &marker, format!("the other client sends {marker}"));
    thread::scope(|scope| {
        scope.spawn(|| session.send(&mut one, false));
        scope.spawn(|| session.send(&mut other, false));
    });
    session.settle(&mut one);
    session.settle(&mut other);
    vec![one, other]
}

/// Sends a message three times with the same id: twice at the same time, and again once it has arrived.
fn retried(session: &TruthSession<'_>, message: &mut JudgedMessage) {
    let mut again = message.clone();
    thread::scope(|scope| {
        scope.spawn(|| session.send(&mut again, false));
        session.send(message, false);
    });
    if session.naive {
        return;
    }
    session.settle(message);
    session.send(&mut again, false);
    if let MessageReply::Refused(why) = again.reply {
        message.reply = MessageReply::Refused(why);
    }
}
