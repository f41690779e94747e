//! Full-screen programs look the same under wh and in tmux with the same keys and sizes.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use wh_testkit::tmux::VisibleScreen;
use wh_testkit::{CONDITION_TIMEOUT, Tmux, Wh, deadline, tools};

use crate::WH;

/// The same program under wh and in tmux, in terminals of the same size.
struct Twins {
    wh: Wh,
    tmux: Tmux,
    size: (u16, u16),
    /// True if the rows are drawn for this size.
    drawn_for: fn(&[String], (u16, u16)) -> bool,
    _directory: TempDir,
}

impl Twins {
    fn start(program: &[&str], drawn_for: fn(&[String], (u16, u16)) -> bool) -> Self {
        let directory = tempfile::tempdir().expect("a directory for the program");
        let lines: String = (1..=200).map(|line| format!("{line} the wheel turns at {}\n", line * 7 % 12)).collect();
        fs::write(directory.path().join("turns.txt"), lines).expect("a file for the program");
        // The output of a program depends on TERM.
        let env = ["env", "TERM=xterm-256color", "LANG=C.UTF-8", "LESS=", "LESSHISTFILE=-"];
        let command = [&env, program].concat();
        let twins = Self {
            wh: Wh::options(WH)
                .flags(&["--size", "80x24"])
                .directory(directory.path())
                .start(&[&["--"], &command[..]].concat()),
            tmux: Tmux::options(80, 24).directory(directory.path()).start(&command),
            size: (80, 24),
            drawn_for,
            _directory: directory,
        };
        twins.look_the_same("at the start");
        twins
    }

    fn text(&self, text: &str) {
        self.wh.text(text);
        self.tmux.send_text(text);
    }

    /// Presses a key, given its wh name and its tmux name. Not for home and end, which tmux encodes for its own
    /// terminal type.
    fn key(&self, ours: &str, theirs: &str) {
        self.wh.key(ours);
        self.tmux.send_keys(&[theirs]);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        let answer = self.wh.post("/control/resize", json!({ "width": columns, "height": rows }));
        assert_eq!(answer.status, 200, "{}", answer.text());
        self.tmux.resize(columns, rows);
        self.size = (columns, rows);
        self.look_the_same(&format!("at {columns}x{rows}"));
    }

    #[track_caller]
    fn look_the_same(&self, when: &str) {
        self.wh.wait("screen_stable 100");
        let mut differences = String::new();
        let same = deadline::wait_until(CONDITION_TIMEOUT, || {
            let ours = self.sight();
            differences = ours.differences(&self.tmux.visible());
            if !(self.drawn_for)(&ours.rows, self.size) {
                differences = format!("not drawn for {:?}:\n{}\n{differences}", self.size, ours.rows.join("\n"));
            }
            differences.is_empty().then_some(())
        });
        assert!(same.is_some(), "{when} they do not look the same\n{differences}");
    }

    fn sight(&self) -> VisibleScreen {
        let screen = self.wh.screen();
        let rows = screen["lines"].as_array().expect("lines");
        let number = |value: &serde_json::Value| value.as_u64().and_then(|n| n.try_into().ok()).expect("a number");
        VisibleScreen {
            rows: rows.iter().map(|row| row.as_str().expect("a line").to_owned()).collect(),
            cursor: (number(&screen["cursor"]["x"]), number(&screen["cursor"]["y"])),
            cursor_visible: screen["cursor"]["visible"].as_bool().expect("a truth value"),
        }
    }
}

#[test]
fn vim_looks_the_same_in_tmux_after_each_resize() {
    if !tools::present(&["tmux", "vim"]) {
        return;
    }
    let vim = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-N", "--cmd", "set laststatus=2 ruler number", "turns.txt"];
    let mut twins = Twins::start(&vim, |rows, (_, height)| rows[usize::from(height) - 2].starts_with("turns.txt"));
    twins.text(":vsplit\r40G");
    twins.look_the_same("split");
    twins.resize(132, 43);
    twins.text("o漢字 and more text than fits into a window of thirty columns");
    twins.key("escape", "Escape");
    twins.look_the_same("edited");
    twins.resize(60, 20);
    twins.key("pagedown", "PageDown");
    twins.text("dd");
    twins.look_the_same("scrolled");
}

#[test]
fn less_looks_the_same_in_tmux_after_each_resize() {
    if !tools::present(&["tmux", "less"]) {
        return;
    }
    let mut twins = Twins::start(&["less", "-N", "turns.txt"], |rows, _| {
        rows.last().is_some_and(|row| row.starts_with(':') || row.starts_with("turns.txt"))
    });
    twins.text(" /at 9\r");
    twins.look_the_same("searched");
    twins.resize(132, 43);
    twins.text("n");
    twins.look_the_same("searched on");
    twins.resize(60, 20);
    twins.key("pageup", "PageUp");
    twins.look_the_same("scrolled");
}

#[test]
fn dialog_looks_the_same_in_tmux_after_each_resize() {
    if !tools::present(&["tmux", "dialog"]) {
        return;
    }
    // Unlike the others it draws on the primary screen, whose contents are rewrapped before it redraws.
    let form = ["--backtitle", "Wheelhouse", "--form", "What wheel?", "12", "50", "4"];
    let fields = ["Name", "1", "2", "fore", "1", "12", "20", "40", "Rim", "3", "2", "ash 漢字", "3", "12", "20", "40"];
    let ruled = |rows: &[String], (width, _)| rows[1].chars().filter(|&c| c == '─').count() == usize::from(width - 2);
    let mut twins = Twins::start(&[&["dialog"], &form[..], &fields].concat(), ruled);
    twins.key("right", "Right");
    twins.text("-and-a");
    twins.look_the_same("typed");
    twins.resize(132, 43);
    twins.key("down", "Down");
    twins.text("and oak ");
    twins.look_the_same("typed on");
    twins.resize(60, 20);
    twins.key("tab", "Tab");
    twins.look_the_same("moved on");
}
