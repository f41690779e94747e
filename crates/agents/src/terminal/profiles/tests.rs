//! Tests with recorded screens of the real agents. A fixture draws one screen; its name has the size.

mod adversarial;
mod claude;
mod codex;
mod gemini;

use std::fs;
use std::path::{Path, PathBuf};

use wh_core::terminal::Size;
use wh_screen::frame::ScreenFrame;
use wh_screen::vt::Vt;

use super::super::profile::AgentProfile;
use super::super::reading::{ComposerReading, DialogReading, ScreenPlace};

fn directory(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/terminal/fixtures").join(agent)
}

fn drawn(bytes: &[u8], columns: u16, rows: u16) -> ScreenFrame {
    let mut vt = Vt::new(Size { columns, rows }, 0);
    vt.feed(bytes);
    vt.frame()
}

/// Returns the screen of a fixture, for example `idle-100x32`.
#[track_caller]
fn screen(agent: &str, name: &str) -> ScreenFrame {
    let (_, size) = name.rsplit_once('-').expect("a fixture has a size");
    let (columns, rows) = size.split_once('x').expect("a size has two numbers");
    let path = directory(agent).join(format!("{name}.ansi"));
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    drawn(&bytes, columns.parse().unwrap(), rows.parse().unwrap())
}

/// Returns the names of all fixtures of an agent.
fn names(agent: &str) -> Vec<String> {
    let entries = fs::read_dir(directory(agent)).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = entries
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect();
    names.sort();
    names
}

/// Sizes in which a scene was recorded.
fn sizes(agent: &str, scene: &str) -> Vec<String> {
    let of_scene = |name: &String| name.rsplit_once('-').is_some_and(|(of, _)| of == scene);
    let names: Vec<String> = names(agent).into_iter().filter(of_scene).collect();
    assert!(!names.is_empty(), "no fixture of {agent} shows {scene}");
    names
}

#[track_caller]
fn place(profile: &AgentProfile, name: &str) -> ScreenPlace {
    profile.read_screen(&screen(profile.id, name)).place
}

#[track_caller]
fn composer(profile: &AgentProfile, name: &str) -> ComposerReading {
    match place(profile, name) {
        ScreenPlace::Composer(composer) => composer,
        other => panic!("{name} is no composer: {other:?}"),
    }
}

#[track_caller]
fn dialog(profile: &AgentProfile, name: &str) -> DialogReading {
    match place(profile, name) {
        ScreenPlace::Dialog(dialog) => dialog,
        other => panic!("{name} is no dialog: {other:?}"),
    }
}

#[track_caller]
fn blocked(profile: &AgentProfile, name: &str) -> String {
    match place(profile, name) {
        ScreenPlace::Blocked(page) => page.to_string(),
        other => panic!("{name} is not blocked: {other:?}"),
    }
}

fn labels(dialog: &DialogReading) -> Vec<&str> {
    dialog.options.iter().map(|option| option.label.as_str()).collect()
}

/// Reading in one line, for the table of all fixtures.
fn summary(place: &ScreenPlace) -> String {
    match place {
        ScreenPlace::Unrecognised => "unrecognised".to_owned(),
        ScreenPlace::Blocked(page) => format!("blocked: {page}"),
        ScreenPlace::Dialog(dialog) => format!(
            "dialog {:?}{}{} «{}» «{}» {} details, {:?}",
            dialog.kind,
            if dialog.focus_on_text { " text" } else { "" },
            if dialog.multiple { " multiple" } else { "" },
            dialog.title,
            dialog.question,
            dialog.details.len(),
            dialog
                .options
                .iter()
                .map(|option| format!(
                    "{}{}{} = {:?}",
                    if option.selected { ">" } else { "" },
                    option.label,
                    option.hotkey.as_ref().map_or(String::new(), |key| format!(" ({key})")),
                    option.meaning
                ))
                .collect::<Vec<_>>()
        ),
        ScreenPlace::Composer(composer) => format!(
            "composer {:?}{}{}{} {:?}",
            composer.mode,
            if composer.completion_open { " completion" } else { "" },
            if composer.may_scroll { " scrolls" } else { "" },
            if composer.pasted.is_empty() { "" } else { " pasted" },
            composer.text
        ),
    }
}

/// Readings of all fixtures of an agent. To accept a changed table, look at each line of it, and write the text of the
/// failure into the file.
#[track_caller]
fn table(profile: &AgentProfile) {
    let mut lines = String::new();
    for name in names(profile.id) {
        let reading = profile.read_screen(&screen(profile.id, &name));
        let works = match reading.shows_work {
            Some(true) => " works",
            Some(false) => " rests",
            None => "",
        };
        lines.push_str(&format!("{name}:{works} {}\n", summary(&reading.place)));
    }
    let path = directory(profile.id).with_extension("readings");
    if std::env::var_os("WH_ACCEPT_READINGS").is_some() {
        fs::write(&path, &lines).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(lines, known, "{}", path.display());
}

#[test]
fn the_readings_of_all_recorded_screens_are_known() {
    for profile in [&super::CLAUDE, &super::CODEX, &super::GEMINI] {
        table(profile);
    }
}
