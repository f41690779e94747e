//! One file per command; its doc comment is its help.

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
mod interrupt;
mod key;
mod kill;
mod logs;
mod ls;
mod man;
mod mark;
mod messages;
mod new;
pub mod offer;
mod outlook;
mod output;
mod play;
mod receipt;
mod rename;
mod resize;
mod run;
mod screen;
mod send;
mod shot;
mod signal;
mod space;
mod state;
mod team;
mod trust;
mod wait;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::{Failure, say};
use crate::print::clean_line;
use crate::settings::Loaded;
pub use control::How;
pub use daemon::ago;
pub use space::SpaceArguments;
pub use wait::duration;

#[derive(Debug, Subcommand)]
pub enum Command {
    Space(space::Space),
    Run(run::Run),
    Daemon(daemon::Daemon),
    New(new::New),
    Ls(ls::Ls),
    Attach(attach::Attach),
    Screen(screen::Screen),
    Send(send::Send),
    Key(key::Key),
    Wait(wait::Wait),
    Interrupt(interrupt::Interrupt),
    Answer(answer::Answer),
    Logs(logs::Logs),
    Rename(rename::Rename),
    Kill(kill::Kill),
    Control(control::Control),
    Audit(audit::Audit),
    Team(team::Team),
    Resize(resize::Resize),
    Signal(signal::Signal),
    State(state::State),
    Messages(messages::Messages),
    Output(output::Output),
    Receipt(receipt::Receipt),
    Mark(mark::Mark),
    Shot(shot::Shot),
    Play(play::Play),
    Demo(demo::Demo),
    Agents(agents::Agents),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Trust(trust::Trust),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub fn run(self, loaded: Loaded) -> Result<ExitCode, Failure> {
        // A space shows them itself.
        if !matches!(self, Self::Space(_)) {
            loaded.notices.iter().for_each(|notice| say(&format!("wh: {}", clean_line(notice))));
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
            Self::Completions(command) => command.run(),
            Self::Man(command) => command.run(),
        }
    }
}
