//! The commands, one file each. The doc comment of each command struct is the help text of the command.

mod agents;
mod answer;
mod attach;
mod audit;
mod completions;
mod config;
mod control;
mod daemon;
mod demo;
mod doctor;
mod explain;
mod hook;
mod interrupt;
mod key;
mod kill;
mod logs;
mod ls;
mod man;
mod mark;
mod messages;
mod new;
mod output;
mod play;
mod receipt;
mod rename;
mod resize;
mod restorable;
mod run;
mod screen;
mod send;
pub mod session_picker;
mod shot;
mod signal;
mod space;
mod state;
mod team;
mod trust;
mod wait;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::{CliFailure, print_to_stderr};
use crate::print::clean_line;
use crate::settings::LoadedSettings;
pub use control::DeliveryOptions;
pub use daemon::ago;
pub use space::SpaceArguments;
pub use wait::duration;

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    Space(space::SpaceCommand),
    Run(run::RunCommand),
    Daemon(daemon::DaemonCommand),
    New(new::NewCommand),
    Ls(ls::LsCommand),
    Attach(attach::AttachCommand),
    Screen(screen::ScreenCommand),
    Send(send::SendCommand),
    Key(key::KeyCommand),
    Wait(wait::WaitCommand),
    Interrupt(interrupt::InterruptCommand),
    Answer(answer::AnswerCommand),
    Logs(logs::LogsCommand),
    Rename(rename::RenameCommand),
    Kill(kill::KillCommand),
    Control(control::ControlCommand),
    Audit(audit::AuditCommand),
    Team(team::TeamCommand),
    Resize(resize::ResizeCommand),
    Signal(signal::SignalCommand),
    State(state::StateCommand),
    Explain(explain::ExplainCommand),
    Messages(messages::MessagesCommand),
    Output(output::OutputCommand),
    Receipt(receipt::ReceiptCommand),
    Mark(mark::MarkCommand),
    Shot(shot::ShotCommand),
    Play(play::PlayCommand),
    Demo(demo::DemoCommand),
    Agents(agents::AgentsCommand),
    Doctor(doctor::DoctorCommand),
    Config(config::ConfigCommand),
    Trust(trust::TrustCommand),
    #[command(hide = true)]
    Hook(hook::HookCommand),
    Completions(completions::CompletionsCommand),
    Man(man::ManCommand),
}

impl CliCommand {
    pub fn run(self, loaded: LoadedSettings) -> Result<ExitCode, CliFailure> {
        // A space shows the notices in its UI.
        if !matches!(self, Self::Space(_)) {
            loaded.notices.iter().for_each(|notice| print_to_stderr(&format!("wh: {}", clean_line(notice))));
        }
        match self {
            Self::Space(command) => command.run(loaded),
            Self::Run(command) => command.run(),
            Self::Daemon(command) => command.run(&loaded.settings),
            Self::New(command) => command.run(&loaded.settings),
            Self::Ls(command) => command.run(),
            Self::Attach(command) => command.run(&loaded.settings),
            Self::Screen(command) => command.run(),
            Self::Send(command) => command.run(),
            Self::Key(command) => command.run(),
            Self::Wait(command) => command.run(),
            Self::Interrupt(command) => command.run(),
            Self::Answer(command) => command.run(),
            Self::Logs(command) => command.run(),
            Self::Rename(command) => command.run(),
            Self::Kill(command) => command.run(),
            Self::Control(command) => command.run(),
            Self::Audit(command) => command.run(),
            Self::Team(command) => command.run(),
            Self::Resize(command) => command.run(),
            Self::Signal(command) => command.run(),
            Self::State(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Messages(command) => command.run(),
            Self::Output(command) => command.run(),
            Self::Receipt(command) => command.run(),
            Self::Mark(command) => command.run(),
            Self::Shot(command) => command.run(),
            Self::Play(command) => command.run(),
            Self::Demo(command) => command.run(),
            Self::Agents(command) => command.run(),
            Self::Doctor(command) => command.run(),
            Self::Config(command) => command.run(),
            Self::Trust(command) => command.run(),
            Self::Hook(command) => Ok(command.run()),
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}
