//! Translates requests of Codex into questions, and answers into replies.

use serde_json::{Map, Value, json};
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_wire::codex::{
    ApprovalDecision, CodexFileChange, CommandApproval, Elicitation, FileApproval, PermissionApproval, ServerRequest,
    UserQuestion,
};

use super::tools;

/// Request of the app-server that waits for an answer. A request may contain several questions, which are answered
/// together.
#[derive(Debug)]
pub(super) struct PendingCodexRequest {
    /// Request id that the app-server assigned.
    pub id: Value,
    ask: ServerRequest,
    /// Possible decisions of an approval, with their option ids.
    decisions: Vec<(String, ApprovalDecision)>,
    pub questions: Vec<Question>,
}

/// Reply to the app-server, and the parts of the user's answer that wh also needs.
#[derive(Debug, PartialEq)]
pub(super) struct CodexAnswer {
    /// Result in the app-server's format.
    pub result: Value,
    /// True if the user's answer grants the request.
    pub allows: bool,
    /// Reason for a denial, if the user gave a reason.
    pub reason: Option<String>,
}

fn choice(id: impl Into<String>, label: impl Into<String>, meaning: OptionMeaning) -> QuestionOption {
    QuestionOption { id: id.into(), label: label.into(), meaning }
}

impl PendingCodexRequest {
    /// Builds the questions of a request. Returns `None` if the request asks nothing that the user could answer.
    /// `changes` contains the file changes of the item that the request refers to.
    pub fn new(id: Value, ask: ServerRequest, changes: &[CodexFileChange]) -> Option<Self> {
        let mut decisions = Vec::new();
        let questions = match &ask {
            ServerRequest::Command(command) => {
                decisions = offered(&command.decisions);
                vec![permission("May Codex run this command?", about_command(command), &decisions)]
            }
            ServerRequest::FileChange(file) => {
                decisions = offered(&file.decisions());
                vec![permission("May Codex change these files?", about_files(file, changes), &decisions)]
            }
            ServerRequest::Permissions(wanted) => vec![permissions(wanted)],
            ServerRequest::UserInput(input) => input.questions.iter().map(asked).collect(),
            ServerRequest::Elicitation(wanted) => vec![elicitation(wanted)],
            ServerRequest::Unknown { .. } => Vec::new(),
        };
        (!questions.is_empty()).then_some(Self { id, ask, decisions, questions })
    }

    /// Builds the reply from the answers, one per question.
    pub fn answer(&self, answers: &[Answer]) -> CodexAnswer {
        let none = Answer { option: None, text: None };
        let (question, answer) = (self.questions.first(), answers.first().unwrap_or(&none));
        let option = answer.option.as_deref();
        let chosen = option.and_then(|id| question?.option(id));
        let allows = chosen.is_some_and(|option| option.meaning.allows());
        let result = match (&self.ask, question) {
            (ServerRequest::Permissions(wanted), _) if allows => wanted.grant(option == Some("session")),
            (ServerRequest::Permissions(wanted), _) => wanted.refuse(),
            (ServerRequest::UserInput(input), _) => input.answer(answers.iter().map(answer_text)),
            (ServerRequest::Elicitation(wanted), Some(question)) => elicitation_reply(wanted, question, answer),
            _ => {
                let decision = self.decisions.iter().find(|(id, _)| option == Some(id));
                decision.map_or(&ApprovalDecision::Decline, |(_, decision)| decision).answer()
            }
        };
        let approval = !matches!(self.ask, ServerRequest::UserInput(_) | ServerRequest::Elicitation(_));
        let reason = answer.text.as_deref().map(str::trim).filter(|text| approval && !allows && !text.is_empty());
        CodexAnswer { result, allows, reason: reason.map(str::to_owned) }
    }

    /// Returns the reason if the answer cannot be sent, otherwise `None`. A form with several fields requires a JSON
    /// object.
    pub fn objection(&self, part: usize, answer: &Answer) -> Option<String> {
        let (ServerRequest::Elicitation(Elicitation { schema: Some(schema), .. }), Some(question)) =
            (&self.ask, self.questions.get(part))
        else {
            return None;
        };
        let form = question.kind == QuestionKind::Text && single(schema).is_none() && answer.option.is_none();
        let object = || serde_json::from_str::<Map<String, Value>>(answer_text(answer));
        object()
            .err()
            .filter(|_| form)
            .map(|error| format!("the answer is not a JSON object ({error}); the question is asked again"))
    }

    /// Builds the reply that refuses the request.
    pub fn refusal(&self) -> Value {
        match &self.ask {
            ServerRequest::Permissions(wanted) => wanted.refuse(),
            ServerRequest::Elicitation(wanted) => wanted.decline(),
            ServerRequest::UserInput(input) => input.answer([]),
            ServerRequest::Command(_) | ServerRequest::FileChange(_) | ServerRequest::Unknown { .. } => {
                ApprovalDecision::Cancel.answer()
            }
        }
    }

    /// Returns the id of the item that the question refers to.
    pub fn item(&self) -> Option<&str> {
        match &self.ask {
            ServerRequest::Command(CommandApproval { item, .. })
            | ServerRequest::FileChange(FileApproval { item, .. })
            | ServerRequest::Permissions(PermissionApproval { item, .. }) => Some(item),
            _ => None,
        }
    }
}

fn answer_text(answer: &Answer) -> &str {
    answer.option.as_deref().or(answer.text.as_deref()).unwrap_or_default()
}

/// Assigns option ids to the decisions. If Codex does not offer a denial, adds one, because Codex always accepts a
/// denial.
fn offered(decisions: &[ApprovalDecision]) -> Vec<(String, ApprovalDecision)> {
    let mut decisions = decisions.to_vec();
    if !decisions.contains(&ApprovalDecision::Decline) {
        let last =
            decisions.iter().position(|decision| *decision == ApprovalDecision::Cancel).unwrap_or(decisions.len());
        decisions.insert(last, ApprovalDecision::Decline);
    }
    let id = |(index, decision): (usize, &ApprovalDecision)| match decision {
        ApprovalDecision::Accept => "accept".to_owned(),
        ApprovalDecision::AcceptForSession => "accept-for-session".to_owned(),
        ApprovalDecision::AcceptRule(_) => "accept-rule".to_owned(),
        ApprovalDecision::Decline => "decline".to_owned(),
        ApprovalDecision::Cancel => "cancel".to_owned(),
        ApprovalDecision::Host { allow: true, .. } => format!("allow-host-{index}"),
        ApprovalDecision::Host { .. } => format!("deny-host-{index}"),
        ApprovalDecision::Other(_) => format!("other-{index}"),
    };
    let ids: Vec<String> = decisions.iter().enumerate().map(id).collect();
    ids.into_iter().zip(decisions).collect()
}

fn permission(title: &str, details: Vec<QuestionDetail>, decisions: &[(String, ApprovalDecision)]) -> Question {
    let option = |(id, decision): &(String, ApprovalDecision)| match decision {
        ApprovalDecision::Accept => choice(id, "Yes", OptionMeaning::AllowOnce),
        ApprovalDecision::AcceptForSession => {
            choice(id, "Yes, and do not ask again in this session", OptionMeaning::AllowAlways)
        }
        ApprovalDecision::AcceptRule(words) => {
            let label = format!("Yes, and do not ask again for {}", words.join(" "));
            choice(id, label, OptionMeaning::AllowAlways)
        }
        ApprovalDecision::Host { host, allow: true, .. } => {
            choice(id, format!("Yes, and always allow {host}"), OptionMeaning::AllowAlways)
        }
        ApprovalDecision::Host { host, .. } => {
            choice(id, format!("No, and never allow {host}"), OptionMeaning::RejectAlways)
        }
        ApprovalDecision::Decline => choice(id, "No", OptionMeaning::RejectOnce),
        ApprovalDecision::Cancel => choice(id, "No, and stop", OptionMeaning::RejectOnce),
        ApprovalDecision::Other(raw) => {
            let object = raw.as_object().and_then(|raw| raw.keys().next().map(String::as_str));
            let label = raw.as_str().or(object).unwrap_or("another decision");
            choice(id, label, OptionMeaning::Other)
        }
    };
    Question {
        kind: QuestionKind::Permission,
        title: title.to_owned(),
        details,
        options: decisions.iter().map(option).collect(),
        accepts_text: true,
        preselects: true,
    }
}

fn about_command(ask: &CommandApproval) -> Vec<QuestionDetail> {
    let command = ask.plain.clone().or_else(|| ask.command.as_deref().map(tools::without_shell));
    let mut details: Vec<QuestionDetail> = command.map(QuestionDetail::Command).into_iter().collect();
    details
        .extend(ask.host.as_ref().map(|host| QuestionDetail::Text(format!("The command wants to connect to {host}."))));
    details.extend(ask.reason.clone().map(QuestionDetail::Text));
    details.extend(ask.directory.clone().map(QuestionDetail::Path));
    details
}

fn about_files(ask: &FileApproval, changes: &[CodexFileChange]) -> Vec<QuestionDetail> {
    let mut details = tools::details(changes);
    details.extend(ask.reason.clone().map(QuestionDetail::Text));
    if let Some(root) = &ask.root {
        details.push(QuestionDetail::Text("Codex wants permanent write access to this directory:".to_owned()));
        details.push(QuestionDetail::Path(root.clone()));
    }
    details
}

fn permissions(ask: &PermissionApproval) -> Question {
    let mut details: Vec<QuestionDetail> = ask.reason.clone().map(QuestionDetail::Text).into_iter().collect();
    details.push(QuestionDetail::Input { tool: "permissions".to_owned(), input: ask.permissions.clone() });
    Question {
        kind: QuestionKind::Permission,
        title: "May Codex have these permissions?".to_owned(),
        details,
        options: vec![
            choice("turn", "Yes, for this turn", OptionMeaning::AllowOnce),
            choice("session", "Yes, for the session", OptionMeaning::AllowAlways),
            choice("decline", "No", OptionMeaning::RejectOnce),
        ],
        accepts_text: true,
        preselects: true,
    }
}

fn asked(ask: &UserQuestion) -> Question {
    let option = |(label, text): &(String, Option<String>)| {
        let shown = text.as_ref().map_or_else(|| label.clone(), |text| format!("{label}: {text}"));
        choice(label, shown, OptionMeaning::Other)
    };
    let options: Vec<QuestionOption> = ask.options.iter().map(option).collect();
    Question {
        kind: match options.is_empty() {
            _ if ask.secret => QuestionKind::Secret,
            true => QuestionKind::Text,
            false => QuestionKind::Choice,
        },
        title: if ask.question.is_empty() { ask.header.clone() } else { ask.question.clone() },
        details: Vec::new(),
        accepts_text: ask.other || options.is_empty(),
        options,
        preselects: false,
    }
}

/// Builds a question from a form. A form without fields becomes a permission question. If the form has one field, the
/// question asks for the value of this field. Other forms are answered with a JSON object.
fn elicitation(ask: &Elicitation) -> Question {
    let mut details = vec![QuestionDetail::Text(format!("{} asks: {}", ask.server, ask.message))];
    details.extend(ask.url.clone().map(QuestionDetail::Text));
    let fields = ask.schema.as_ref().map_or(0, |schema| schema["properties"].as_object().map_or(0, Map::len));
    let mut options = Vec::new();
    match ask.schema.as_ref().and_then(single) {
        Some((_, field)) => {
            let values = field["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
            options
                .extend(values.iter().filter_map(Value::as_str).map(|one| choice(one, one, OptionMeaning::AllowOnce)));
        }
        None if fields == 0 => {
            let yes = if ask.url.is_some() { "I have followed the link" } else { "Yes" };
            options.push(choice("accept", yes, OptionMeaning::AllowOnce));
            options.extend(ask.persist.iter().filter_map(|persist| match persist.as_str() {
                "session" => {
                    Some(choice("session", "Yes, and do not ask again in this session", OptionMeaning::AllowAlways))
                }
                "always" => Some(choice("always", "Yes, and do not ask again", OptionMeaning::AllowAlways)),
                _ => None,
            }));
        }
        None => {
            let input = ask.schema.clone().unwrap_or_default();
            details.push(QuestionDetail::Input { tool: "answer as JSON".to_owned(), input });
        }
    }
    options.push(choice("decline", "No", OptionMeaning::RejectOnce));
    let kind = if fields == 0 { QuestionKind::Permission } else { QuestionKind::Text };
    Question { kind, title: ask.message.clone(), details, options, accepts_text: fields > 0, preselects: false }
}

/// Returns the only field of a form, with its schema. `None` if the form has several fields or none.
fn single(schema: &Value) -> Option<(&String, &Value)> {
    let fields = schema["properties"].as_object()?;
    (fields.len() == 1).then(|| fields.iter().next()).flatten()
}

fn elicitation_reply(ask: &Elicitation, question: &Question, answer: &Answer) -> Value {
    let chosen = answer.option.as_deref().and_then(|id| question.option(id));
    if chosen.is_some_and(|option| option.meaning.rejects()) {
        return ask.decline();
    }
    let given = answer_text(answer);
    if question.kind == QuestionKind::Permission {
        let persist = answer.option.as_deref().filter(|id| ask.persist.iter().any(|known| known == id));
        return ask.accept(json!({}), persist);
    }
    let content = match ask.schema.as_ref().and_then(single) {
        Some((name, field)) => {
            // The form may require a number or a boolean instead of a string. Only the schema contains the type.
            let typed = serde_json::from_str(given).ok().filter(|_: &Value| field["type"] != "string");
            json!({ name: typed.unwrap_or_else(|| json!(given)) })
        }
        None => serde_json::from_str(given).unwrap_or_default(),
    };
    ask.accept(content, None)
}

#[cfg(test)]
mod tests;
