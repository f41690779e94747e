//! Builds response bodies of a daemon's sessions.

use wh_client::{EndCause, SessionHandle, Survivors, Workload};
use wh_core::session::ProgramStatus;
use wh_core::space::ParticipantId;
use wh_core::terminal::Exit;
use wh_core::time::iso;
use wh_wire::control::{AgentSession, SessionKind, SessionStatus, SessionSummary};

use super::space::session_body;

/// Summarises the current status of a session.
pub(crate) async fn summary(session: &SessionHandle) -> SessionSummary {
    let (kind, agent, command) = match &session.workload {
        Workload::Agent { agent, .. } => (SessionKind::Agent, agent.clone(), None),
        Workload::Program(words) => {
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (SessionKind::Terminal, words.first().cloned().unwrap_or_default(), Some(words))
        }
    };
    let mut summary = SessionSummary {
        session_id: session.id.clone(),
        agent_id: session.agent_id(),
        name: session.name(),
        team: session.team.clone(),
        kind,
        agent,
        command,
        status: SessionStatus {
            state: "unknown".to_owned(),
            evidence: "process".to_owned(),
            since: iso(session.created),
            live: session.ended().is_none(),
            turn: None,
            question: None,
            reason: None,
        },
        created_at: iso(session.created),
        cwd: session.directory.to_string_lossy().into_owned(),
        title: None,
        model: None,
        mode: None,
        attached: session.audience.count() as u64,
        questions: 0,
        created_by: session.lineage.creators.first().cloned(),
        person: session.lineage.person,
    };
    if !session.past {
        add_conversation_state(session, &mut summary).await;
        add_terminal_state(session, &mut summary).await;
    }
    if let Some((ending, at)) = session.ended() {
        let (state, reason) = match ending {
            EndCause::Exited(exit) => ("ended", Some(exit_words(exit))),
            EndCause::Gone(reason) => ("ended", reason),
            EndCause::Suspended => {
                ("ended", Some("the daemon is stopping; the next daemon restores the session".to_owned()))
            }
            EndCause::Lost => (
                "lost",
                Some(
                    "the daemon exited unexpectedly and the session could not be restored; `wh logs` prints the last output"
                        .to_owned(),
                ),
            ),
            EndCause::Left(pids) => ("ended", Some(Survivors(pids).to_string())),
        };
        summary.status = SessionStatus {
            state: state.to_owned(),
            evidence: "process".to_owned(),
            since: iso(at),
            live: false,
            turn: None,
            question: None,
            reason,
        };
    }
    summary
}

/// Adds the state of the conversation to a summary.
async fn add_conversation_state(session: &SessionHandle, summary: &mut SessionSummary) {
    let (Some(conversation), Some(agent)) = (&session.conversation, session.agent()) else { return };
    let Ok(Some(view)) = conversation.space.participant(ParticipantId::from(agent)).await else { return };
    (summary.model, summary.mode) = (view.model, view.mode);
    summary.questions = view.open_questions as u64;
    if let Some(status) = view.status {
        let AgentSession { status: state, evidence, since, turn, question, .. } = session_body(&status);
        summary.status = SessionStatus { state, evidence, since, turn, question, ..summary.status.clone() };
    }
}

/// Adds the state of the terminal to a summary.
async fn add_terminal_state(session: &SessionHandle, summary: &mut SessionSummary) {
    let Some(surface) = &session.surface else { return };
    let Ok(facts) = surface.facts().await else { return };
    summary.title = facts.title;
    if summary.kind == SessionKind::Terminal {
        let (state, reason) = match facts.status {
            ProgramStatus::Running => ("running", None),
            ProgramStatus::Stopped => ("stopped", None),
            // A session ends only after all of its processes have exited, so this session is still running.
            ProgramStatus::Exited(exit) => {
                ("running", Some(format!("{}; its remaining child processes are being killed", exit_words(exit))))
            }
        };
        summary.status.state = state.to_owned();
        summary.status.reason = reason;
        summary.status.since = iso(facts.since);
    }
}

fn exit_words(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(signal) => format!("killed by signal {signal}"),
        Exit::Unknown => "exited with an unknown status".to_owned(),
    }
}
