//! tmux as the reference terminal.

use wh_testkit::{Tmux, eventually};

#[test]
fn a_recorded_stream_is_shown_as_it_was_recorded() {
    let stream = "one\ntwo\r\n\x1b[4;3Hthree \x1b[31m漢字\x1b[0m\x1b[6n\x1b[c\x1b[1;20H!";
    let tmux = Tmux::cat(stream.as_bytes(), 20, 5);
    let rows = tmux.capture();
    assert_eq!(
        rows,
        [
            "one                !",
            "   two              ",
            "                    ",
            "  three 漢字        ",
            "                    ",
        ]
    );
    assert_eq!(tmux.cursor(), (19, 0));
}

#[test]
fn a_stream_that_ends_within_a_sequence_is_shown_to_its_end() {
    for open in ["\x1bPq#0", "\x1b]0;title", "\x1b[3", "\x1b"] {
        let tmux = Tmux::cat(format!("shown{open}").as_bytes(), 10, 2);
        assert_eq!(tmux.capture(), ["shown     ", "          "], "after {open:?}");
    }
}

#[test]
fn a_long_stream_scrolls_into_the_history() {
    let stream: String = (0..2_000).map(|line| format!("line {line}\r\n")).collect();
    let tmux = Tmux::cat(stream.as_bytes(), 12, 4);
    assert_eq!(tmux.capture(), ["line 1997   ", "line 1998   ", "line 1999   ", "            "]);
    let history = tmux.history();
    assert_eq!((history.len(), history[0].as_str()), (1_997, "line 0      "));
}

#[test]
fn a_pane_has_the_size_it_was_given_and_takes_keys() {
    let mut tmux = Tmux::start(33, 7, &["sh"]);
    tmux.send_text("stty size; echo e''nd;");
    tmux.send_keys(&["Enter"]);
    let screen = tmux.wait_for("end");
    assert!(screen.iter().any(|row| row.contains("7 33")), "{screen:#?}");
    assert_eq!((screen.len(), tmux.history().len()), (7, 0));

    tmux.resize(40, 9);
    tmux.send_text("nonsense ");
    tmux.send_keys(&["C-u"]);
    tmux.send_text("stty size");
    tmux.send_keys(&["Enter"]);
    let screen = tmux.wait_for("9 40");
    assert!(screen.len() == 9 && screen.iter().all(|row| row.len() == 40), "{screen:#?}");

    tmux.send_text("exit");
    tmux.send_keys(&["Enter"]);
    eventually("the shell is gone", || (!tmux.alive()).then_some(()));
}
