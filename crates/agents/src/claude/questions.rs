//! Translates requests of Claude Code into questions, and answers into replies.

use serde_json::{Map, Value, json};
use wh_core::space::question::{Answer, OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_wire::claude::{
    self as wire, CanUseTool, Elicitation, ElicitationAction, ElicitationResult, IncomingRequest, IncomingRequestKind,
    PermissionBehavior, PermissionDestination, PermissionMode, PermissionResult, PermissionUpdate,
};

use super::tools;

/// Message to the model for a denial without a reason.
const DENY_MESSAGE: &str =
    "The user does not want this tool to run. Do not try it again; continue without it, or ask the user.";

/// Message to the model for a denial that ends the turn.
const DENY_AND_STOP_MESSAGE: &str =
    "The user does not want this tool to run. Stop, and wait for the user's next message.";

/// Option id: deny and end the turn.
const DENY_AND_STOP: &str = "deny-and-stop";

/// Request of Claude Code that waits for an answer. A request may contain several questions, which are answered
/// together.
#[derive(Debug)]
pub(super) struct PendingClaudeRequest {
    pub ask: IncomingRequest,
    pub questions: Vec<Question>,
}

impl PendingClaudeRequest {
    /// Builds the questions of a request. Returns `None` if the request asks nothing that the user could answer.
    pub fn new(ask: IncomingRequest) -> Option<Self> {
        let questions = match &ask.kind {
            IncomingRequestKind::CanUseTool(tool) => match tool.tool_name.as_str() {
                "AskUserQuestion" => choices(&tool.input),
                "ExitPlanMode" => vec![plan(tool)],
                _ => vec![permission(tool)],
            },
            IncomingRequestKind::Elicitation(wanted) => vec![elicitation(wanted)],
            _ => Vec::new(),
        };
        (!questions.is_empty()).then_some(Self { ask, questions })
    }

    /// Builds the reply from the answers, one per question.
    pub fn answer(&self, answers: &[(Question, Answer)]) -> wire::Answer {
        match (&self.ask.kind, answers.first()) {
            (IncomingRequestKind::CanUseTool(tool), _) if tool.tool_name == "AskUserQuestion" => {
                choices_reply(tool, answers).into()
            }
            (IncomingRequestKind::CanUseTool(tool), Some((_, answer))) => permission_reply(tool, answer).into(),
            (IncomingRequestKind::Elicitation(wanted), Some((question, answer))) => {
                elicitation_reply(wanted, question, answer).into()
            }
            // Requests of other kinds have no questions, so nobody answers them.
            _ => ElicitationResult { action: ElicitationAction::Decline, content: None }.into(),
        }
    }

    /// Returns the reason if the answer cannot be sent, otherwise `None`. A form with several fields requires a JSON
    /// object.
    pub fn objection(&self, answer: &Answer) -> Option<String> {
        let IncomingRequestKind::Elicitation(wanted) = &self.ask.kind else { return None };
        let schema = wanted.requested_schema.as_ref()?;
        let words = answer.text.as_deref().filter(|_| answer.option.is_none() && single(schema).is_none())?;
        let error = serde_json::from_str::<Map<String, Value>>(words).err()?;
        Some(format!("the answer is not a JSON object ({error}); the question is asked again"))
    }

    /// Returns the id of the tool call that the question refers to.
    pub fn tool_use_id(&self) -> Option<&str> {
        match &self.ask.kind {
            IncomingRequestKind::CanUseTool(tool) => tool.tool_use_id.as_deref(),
            _ => None,
        }
    }
}

fn choice(id: impl Into<String>, label: impl Into<String>, meaning: OptionMeaning) -> QuestionOption {
    QuestionOption { id: id.into(), label: label.into(), meaning }
}

fn permission(ask: &CanUseTool) -> Question {
    let name = ask.display_name.as_deref().unwrap_or(&ask.tool_name);
    let title = ask.title.clone().unwrap_or_else(|| format!("May Claude use {name}?"));
    let mut details = tools::details(&ask.tool_name, &ask.input);
    details.extend(ask.decision_reason.as_deref().map(|reason| QuestionDetail::Text(plain(reason))));
    let mut options = vec![choice("allow", "Yes", OptionMeaning::AllowOnce)];
    if !ask.suppress_always_allow_rule {
        let always = ask.permission_suggestions.iter().enumerate();
        options.extend(always.filter_map(|(index, update)| {
            Some(choice(format!("always-{index}"), suggestion(update)?, OptionMeaning::AllowAlways))
        }));
    }
    options.push(choice("deny", "No", OptionMeaning::RejectOnce));
    options.push(choice(DENY_AND_STOP, "No, and stop", OptionMeaning::RejectOnce));
    let preselects = !(ask.default_to_no || ask.requires_user_interaction);
    Question { kind: QuestionKind::Permission, title, details, options, accepts_text: true, preselects }
}

/// Returns the label of the option that accepts a permission suggestion; `None` for unsupported suggestions.
fn suggestion(update: &PermissionUpdate) -> Option<String> {
    let place = |destination: &PermissionDestination| match destination {
        PermissionDestination::Session => "in this session",
        PermissionDestination::UserSettings => "everywhere",
        _ => "in this project",
    };
    Some(match update {
        PermissionUpdate::AddRules { rules, destination, behavior: PermissionBehavior::Allow } => {
            let rules: Vec<String> = rules
                .iter()
                .map(|rule| match &rule.rule_content {
                    Some(content) => format!("{}({content})", rule.tool_name),
                    None => format!("any {}", rule.tool_name),
                })
                .collect();
            format!("Yes, and do not ask again for {} {}", plain(&rules.join(", ")), place(destination))
        }
        PermissionUpdate::SetMode { mode: PermissionMode::AcceptEdits, .. } => {
            "Yes, and allow all edits in this session".to_owned()
        }
        // Modes that skip permissions are selected at the start or with `/mode`, not here.
        PermissionUpdate::SetMode { .. } => return None,
        PermissionUpdate::AddDirectories { directories, destination } => {
            format!("Yes, and allow access to {} {}", plain(&directories.join(", ")), place(destination))
        }
        _ => return None,
    })
}

fn permission_reply(ask: &CanUseTool, answer: &Answer) -> PermissionResult {
    let option = answer.option.as_deref();
    let mode = |mode| PermissionUpdate::SetMode { mode, destination: PermissionDestination::Session };
    let updates = match option {
        // Without this update, Claude Code returns to the mode that was active before the plan.
        Some("allow") if ask.tool_name == "ExitPlanMode" => vec![mode(PermissionMode::Default)],
        Some("allow") => Vec::new(),
        Some("accept-edits") => vec![mode(PermissionMode::AcceptEdits)],
        Some(other) => {
            let index = other.strip_prefix("always-").and_then(|index| index.parse::<usize>().ok());
            match index.and_then(|index| ask.permission_suggestions.get(index)) {
                Some(update) => vec![update.clone()],
                None => return denial(ask, answer),
            }
        }
        None => return denial(ask, answer),
    };
    let permanent = !updates.is_empty();
    PermissionResult::Allow {
        updated_input: Some(ask.input.clone()),
        updated_permissions: permanent.then_some(updates),
        tool_use_id: ask.tool_use_id.clone(),
        decision_classification: Some(if permanent { "user_permanent" } else { "user_temporary" }.to_owned()),
    }
}

fn denial(ask: &CanUseTool, answer: &Answer) -> PermissionResult {
    let reason = answer.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let stops = answer.option.as_deref() == Some(DENY_AND_STOP);
    PermissionResult::Deny {
        message: reason.unwrap_or(if stops { DENY_AND_STOP_MESSAGE } else { DENY_MESSAGE }).to_owned(),
        interrupt: stops.then_some(true),
        tool_use_id: ask.tool_use_id.clone(),
        decision_classification: Some("user_reject".to_owned()),
    }
}

fn plan(ask: &CanUseTool) -> Question {
    let details = ask.input["plan"].as_str().map(|plan| QuestionDetail::Text(plan.to_owned())).into_iter().collect();
    let options = vec![
        choice("allow", "Yes, and ask about each edit", OptionMeaning::AllowOnce),
        choice("accept-edits", "Yes, and allow all edits in this session", OptionMeaning::AllowAlways),
        choice("deny", "No, keep planning", OptionMeaning::RejectOnce),
    ];
    let title = "Claude has made a plan. May Claude carry out the plan?".to_owned();
    Question { kind: QuestionKind::Permission, title, details, options, accepts_text: true, preselects: false }
}

/// Builds the questions of a call of the tool `AskUserQuestion`, which asks up to four questions.
fn choices(input: &Value) -> Vec<Question> {
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    questions
        .iter()
        .map(|one| {
            let options = one["options"].as_array().map(Vec::as_slice).unwrap_or_default();
            let labels = options.iter().filter_map(|option| {
                let label = option["label"].as_str()?;
                let text = option["description"].as_str().filter(|text| !text.is_empty());
                Some((label, text.map_or_else(|| label.to_owned(), |text| format!("{label}: {text}"))))
            });
            let mut details = Vec::new();
            if one["multiSelect"].as_bool().unwrap_or(false) {
                details.push(QuestionDetail::Text(
                    "You can choose several options: type their labels, separated by commas.".to_owned(),
                ));
            }
            Question {
                kind: QuestionKind::Choice,
                title: one["question"].as_str().unwrap_or_default().to_owned(),
                details,
                options: labels.map(|(label, shown)| choice(label, shown, OptionMeaning::Other)).collect(),
                accepts_text: true,
                preselects: false,
            }
        })
        .collect()
}

fn choices_reply(ask: &CanUseTool, answers: &[(Question, Answer)]) -> PermissionResult {
    let given = |answer: &Answer| answer.option.clone().or_else(|| answer.text.clone()).unwrap_or_default();
    let answers: Map<String, Value> =
        answers.iter().map(|(question, answer)| (question.title.clone(), json!(given(answer)))).collect();
    let mut input = ask.input.clone();
    if let Some(input) = input.as_object_mut() {
        input.insert("answers".to_owned(), Value::Object(answers));
    }
    PermissionResult::Allow {
        updated_input: Some(input),
        updated_permissions: None,
        tool_use_id: ask.tool_use_id.clone(),
        decision_classification: None,
    }
}

/// Builds a question from a form. If the form has one field, the question asks for the value of this field. Other forms
/// are answered with a JSON object.
fn elicitation(ask: &Elicitation) -> Question {
    let title = ask.title.clone().unwrap_or_else(|| plain(&ask.message));
    let mut details = vec![QuestionDetail::Text(format!("{} asks: {}", ask.mcp_server_name, plain(&ask.message)))];
    details.extend(ask.url.clone().map(QuestionDetail::Text));
    let mut options = Vec::new();
    if ask.mode.as_deref() == Some("url") {
        options.push(choice("accept", "I have followed the link", OptionMeaning::AllowOnce));
    } else if let Some(schema) = &ask.requested_schema {
        match single(schema) {
            Some((_, field)) => {
                let values = field["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
                options.extend(
                    values.iter().filter_map(Value::as_str).map(|value| choice(value, value, OptionMeaning::AllowOnce)),
                );
            }
            None => details.push(QuestionDetail::Input { tool: "answer as JSON".to_owned(), input: schema.clone() }),
        }
    }
    options.push(choice("decline", "No", OptionMeaning::RejectOnce));
    Question { kind: QuestionKind::Text, title, details, options, accepts_text: true, preselects: false }
}

/// Returns the only field of a form, with its schema. `None` if the form has several fields or none.
fn single(schema: &Value) -> Option<(&String, &Value)> {
    let fields = schema["properties"].as_object()?;
    (fields.len() == 1).then(|| fields.iter().next()).flatten()
}

fn elicitation_reply(ask: &Elicitation, question: &Question, answer: &Answer) -> ElicitationResult {
    let rejected = answer.option.as_deref().and_then(|id| question.option(id)).is_some_and(|one| one.meaning.rejects());
    if rejected {
        return ElicitationResult { action: ElicitationAction::Decline, content: None };
    }
    let given = answer.text.clone().or_else(|| answer.option.clone()).unwrap_or_default();
    let content = match ask.requested_schema.as_ref().and_then(single) {
        Some((name, field)) => {
            // The form may require a number or a boolean instead of a string. Only the schema contains the type.
            let typed = serde_json::from_str(&given).ok().filter(|_: &Value| field["type"] != "string");
            Some(Map::from_iter([(name.clone(), typed.unwrap_or(Value::String(given)))]))
        }
        None => serde_json::from_str(&given).ok(),
    };
    ElicitationResult { action: ElicitationAction::Accept, content }
}

/// Removes escape sequences and control characters from a text.
fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                while characters.next_if(|next| !next.is_ascii_alphabetic()).is_some() {}
                characters.next();
            }
        } else if character == '\n' || !character.is_control() {
            clean.push(character);
        }
    }
    clean
}

#[cfg(test)]
mod tests;
