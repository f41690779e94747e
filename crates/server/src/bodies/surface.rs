//! Builds the response body of a surface's state: process and terminal.

use wh_client::SurfaceFacts;
use wh_core::session::ProgramStatus;
use wh_core::time::iso;
use wh_wire::control::{ClientState, ExitBody, SessionFacts, TerminalFacts, Ui};

/// Converts the facts about a surface to the API's state, without the fields of a conversation.
pub(crate) fn client_state(facts: &SurfaceFacts) -> ClientState {
    let (status, exit) = match facts.status {
        ProgramStatus::Running => ("running", None),
        ProgramStatus::Stopped => ("stopped", None),
        ProgramStatus::Exited(exit) => ("exited", Some(ExitBody { code: exit.code(), signal: exit.signal() })),
    };
    ClientState {
        ui: Ui { terminal_width: Some(facts.size.columns), ..Ui::default() },
        session: Some(SessionFacts {
            id: facts.id.clone(),
            command: facts.command.clone(),
            status: status.to_owned(),
            evidence: "process".to_owned(),
            since: iso(facts.since),
            pid: facts.pid,
            exit,
            open_waits: facts.open_waits,
            queued_input: facts.queued_input,
        }),
        terminal: Some(TerminalFacts {
            width: facts.size.columns,
            height: facts.size.rows,
            attached: facts.attached,
            title: facts.title.clone(),
            alternate_screen: facts.alternate_screen,
            directory: facts.reports.directory.clone(),
            notification: facts.reports.notification.clone(),
            progress: facts.reports.progress.clone(),
            shell_mark: facts.reports.shell_mark.clone(),
            bells: facts.reports.bells,
            output_bytes: facts.output_bytes,
            frames_rendered: facts.frames_rendered,
        }),
        ..ClientState::default()
    }
}
