//! Builds response bodies of open questions.

use wh_client::{Conversation, SessionGone};
use wh_core::space::item::Item;
use wh_core::space::question::{OptionMeaning, Question, QuestionDetail, QuestionKind, QuestionOption};
use wh_core::time::iso;
use wh_wire::control::{DetailBody, OptionBody, QuestionBody};

/// Returns the open questions of a conversation, oldest first. The list is empty if there is no conversation or the
/// conversation has ended.
pub(crate) async fn questions_of(conversation: Option<&Conversation>) -> Vec<QuestionBody> {
    match conversation {
        Some(conversation) => open_questions(conversation).await.unwrap_or_default(),
        None => Vec::new(),
    }
}

/// Returns the open questions, or an error if the conversation has ended.
pub(crate) async fn open_questions(conversation: &Conversation) -> Result<Vec<QuestionBody>, SessionGone> {
    let open = conversation.space.questions().await?;
    Ok(open.iter().filter_map(|item| item.open_question().map(|question| question_body(item, question))).collect())
}

fn question_body(item: &Item, question: &Question) -> QuestionBody {
    QuestionBody {
        id: item.id.to_string(),
        from: item.from.to_string(),
        kind: kind_name(question.kind).to_owned(),
        title: question.title.clone(),
        details: question.details.iter().map(detail).collect(),
        options: question.options.iter().map(option).collect(),
        accepts_text: question.accepts_text,
        preselects: question.preselects,
        turn: item.turn.as_ref().map(ToString::to_string),
        asked_at: iso(item.at),
    }
}

fn detail(detail: &QuestionDetail) -> DetailBody {
    match detail.clone() {
        QuestionDetail::Text(text) => DetailBody::Text { text },
        QuestionDetail::Command(command) => DetailBody::Command { command },
        QuestionDetail::Path(path) => DetailBody::Path { path },
        QuestionDetail::Diff { path, old, new } => DetailBody::Diff { path, old, new },
        QuestionDetail::Input { tool, input } => DetailBody::Input { tool, input },
    }
}

fn option(choice: &QuestionOption) -> OptionBody {
    let kind = match choice.meaning {
        OptionMeaning::AllowOnce => "allow_once",
        OptionMeaning::AllowAlways => "allow_always",
        OptionMeaning::RejectOnce => "reject_once",
        OptionMeaning::RejectAlways => "reject_always",
        OptionMeaning::Other => "other",
    };
    OptionBody { id: choice.id.clone(), label: choice.label.clone(), kind: kind.to_owned() }
}

pub(super) fn kind_name(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Permission => "permission",
        QuestionKind::Choice => "choice",
        QuestionKind::Text => "text",
        QuestionKind::Secret => "secret",
    }
}
