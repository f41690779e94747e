//! `wh run` on a real terminal (tmux): transparent while it runs, and restored on every exit path.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use wh_testkit::http::TestRequest;
use wh_testkit::process::{descendants, running};
use wh_testkit::{Tmux, eventually};

use crate::WH;

/// Shell in an 80x24 terminal, with `wh` on its path and a separate runtime directory.
struct Desk {
    tmux: Tmux,
    runtime: tempfile::TempDir,
}

impl Desk {
    /// Starts the shell. `None`, with a notice, without tmux.
    fn new() -> Option<Self> {
        if !wh_testkit::tools::present(&["tmux"]) {
            return None;
        }
        let runtime = tempfile::tempdir().unwrap();
        let directory = std::path::Path::new(WH).parent().unwrap().display();
        let path = format!("{directory}:{}", std::env::var("PATH").unwrap());
        let options =
            Tmux::options(80, 24).env("PS1", "$ ").env("PATH", path).env("XDG_RUNTIME_DIR", runtime.path().display());
        let tmux = options.start(&["bash", "--norc"]);
        tmux.wait_for("$");
        Some(Self { tmux, runtime })
    }

    fn line(&self, text: &str) {
        self.tmux.send_text(text);
        self.tmux.send_keys(&["Enter"]);
    }

    fn sees(&self, text: &str) {
        self.tmux.wait_for(text);
    }

    fn screen(&self) -> String {
        self.tmux.capture().join("\n")
    }

    /// Returns the port that wh has printed.
    fn port(&self) -> u16 {
        eventually("wh says its port", || {
            let screen = self.tmux.capture().join("");
            let rest = screen.split_once("\"port\":")?.1;
            rest.split_once(',')?.0.parse().ok()
        })
    }

    /// Returns the wh process that the shell has started.
    fn wh(&self) -> Pid {
        let shell: i32 = self.tmux.format("#{pane_pid}").trim().parse().unwrap();
        eventually("wh runs", || {
            let is_wh =
                |pid: &Pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"wh\0"));
            descendants(Pid::from_raw(shell)).into_iter().find(is_wh)
        })
    }

    /// Checks that the terminal is restored: line editing, echo, no mouse, main screen.
    fn is_restored(&self) {
        let report = self.runtime.path().join("settings");
        let _ = std::fs::remove_file(&report);
        self.line("stty -a > $XDG_RUNTIME_DIR/new; mv $XDG_RUNTIME_DIR/new $XDG_RUNTIME_DIR/settings");
        let settings = eventually("the shell takes a line", || std::fs::read_to_string(&report).ok());
        let settings: Vec<&str> = settings.split([' ', ';', '\n']).collect();
        for setting in ["icanon", "echo", "isig", "opost"] {
            assert!(settings.contains(&setting), "{setting} is off: {settings:?}");
        }
        for (format, off) in [("#{alternate_on}", "0"), ("#{mouse_any_flag}", "0"), ("#{cursor_flag}", "1")] {
            assert_eq!(self.tmux.format(format).trim(), off, "{format}");
        }
    }
}

fn plain(port: u16) -> String {
    let response = TestRequest::get("/control/screen").send(port).expect("the door answers");
    response.json()["plain"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn the_program_uses_the_real_terminal_and_wh_returns_its_exit_code() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run -- sh -c 'stty size; tty | cut -c1-8; exit 3'; echo code=$?");
    desk.sees("code=3");
    assert!(desk.screen().contains("24 80"), "{}", desk.screen());
    desk.line("wh run -- sh -c 'kill -TERM $$'; echo code=$?");
    desk.sees("code=143");
    desk.is_restored();
}

#[test]
fn without_a_control_port_nothing_listens() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run -- cat");
    let wh = desk.wh();
    desk.line("typed");
    desk.sees("typed\n".trim());
    let Ok(sockets) = std::fs::read_dir(format!("/proc/{wh}/fd")) else {
        return wh_testkit::tools::skip("only root can look into an undumpable process", true);
    };
    let sockets = sockets.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let listening = std::fs::read_to_string(format!("/proc/{wh}/net/tcp")).unwrap();
    let inodes: Vec<String> = sockets
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned))
        .collect();
    // 0A is LISTEN.
    assert!(
        !listening
            .lines()
            .any(|line| line.contains(" 0A ") && inodes.iter().any(|inode| line.contains(inode.as_str())))
    );
}

#[test]
fn the_terminal_and_the_api_share_the_program() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run --control-port 0 -- bash --norc");
    let port = desk.port();
    desk.line("echo by-$((1+1))-person");
    desk.sees("by-2-person");
    eventually("the door sees it", || plain(port).contains("by-2-person").then_some(()));
    let body = json!({"text": "echo by-$((2+2))-door", "key": "enter"});
    assert_eq!(TestRequest::post_json("/control/send_input", &body).send(port).unwrap().status, 200);
    desk.sees("by-4-door");
    let refused = TestRequest::post_json("/control/resize", &json!({"width": 100, "height": 30})).send(port).unwrap();
    assert_eq!((refused.status, refused.json()["error"].clone()), (409, json!("Terminal attached")));
    let wh = desk.wh();
    desk.line("exit");
    eventually("wh ends", || (!running(wh)).then_some(()));
    desk.line("echo code=$?");
    desk.sees("code=0");
    desk.is_restored();
}

#[test]
fn a_resize_reaches_the_program_and_the_api() {
    let Some(mut desk) = Desk::new() else { return };
    desk.line("wh run --control-port 0 -- bash --norc");
    let port = desk.port();
    desk.tmux.resize(100, 30);
    eventually("the door sees the size", || {
        let screen = TestRequest::get("/control/screen").send(port).ok()?.json();
        (screen["width"] == 100 && screen["height"] == 30).then_some(())
    });
    desk.line("stty size");
    desk.sees("30 100");
}

#[test]
fn the_real_terminal_answers_queries_of_the_program() {
    let Some(desk) = Desk::new() else { return };
    // Device attributes: tmux answers 1;2, wh would answer 6. One query gets one answer.
    desk.line("wh run --control-port 0 -- bash --norc -c 'stty raw -echo; printf \"\\033[c\"; IFS= read -r -d c answer; stty sane; printf %q \"$answer\"; read -t 0.2 more; echo \"[mo\"\"re:$more]\"'");
    desk.sees("[more:");
    let screen = desk.screen();
    assert!(screen.contains("?1;2[more:]") || screen.contains("?1;2'[more:]"), "{screen}");
}

#[test]
fn suspending_returns_to_the_shell_and_the_program_can_be_continued() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run --control-port 0 -- cat");
    let port = desk.port();
    desk.tmux.send_keys(&["C-z"]);
    desk.sees("Stopped");
    desk.is_restored();
    desk.line("fg");
    eventually("it runs again", || {
        let state = TestRequest::get("/control/state").send(port).ok()?.json();
        (state["session"]["status"] == "running").then_some(())
    });
    desk.line("hello again");
    eventually("cat answers", || (plain(port).matches("hello again").count() >= 2).then_some(()));
    let wh = desk.wh();
    desk.tmux.send_keys(&["C-c"]);
    eventually("wh ends", || (!running(wh)).then_some(()));
    desk.line("echo code=$?");
    desk.sees("code=130");
    desk.is_restored();
}

/// Program that enables every terminal mode.
const GREEDY: &str = "printf '\\033[?1049h\\033[?1003h\\033[?1006h\\033[?2004h\\033[?1004h\\033[?25l\\033[?1h\\033[>1ugr\\145edy'; stty raw -echo; exec sleep 1000";

fn greedy(flags: &str) -> Option<(Desk, Pid)> {
    let desk = Desk::new()?;
    desk.line(&format!("wh run {flags} -- sh -c \"{}\"", GREEDY.replace('\\', "\\\\")));
    desk.sees("greedy");
    let wh = desk.wh();
    Some((desk, wh))
}

#[test]
fn the_terminal_is_restored_when_the_program_is_killed() {
    let Some((desk, wh)) = greedy("--control-port 0") else { return };
    let program = descendants(wh).pop().unwrap();
    kill(program, Signal::SIGKILL).unwrap();
    // Input typed while wh still has the terminal would go to the program.
    eventually("wh ends", || (!running(wh)).then_some(()));
    desk.line("echo code=$?");
    desk.sees("code=137");
    desk.is_restored();
}

#[test]
fn the_terminal_is_restored_when_wh_is_terminated() {
    for flags in ["", "--control-port 0"] {
        let Some((desk, wh)) = greedy(flags) else { return };
        kill(wh, Signal::SIGTERM).unwrap();
        eventually("wh ends", || (!running(wh)).then_some(()));
        desk.is_restored();
    }
}

#[test]
fn the_terminal_is_restored_when_wh_is_killed() {
    for flags in ["", "--control-port 0"] {
        let Some((desk, wh)) = greedy(flags) else { return };
        let family = descendants(wh);
        kill(wh, Signal::SIGKILL).unwrap();
        eventually("nothing is left", || (!family.iter().any(|pid| running(*pid))).then_some(()));
        desk.is_restored();
    }
}

#[test]
fn the_demo_is_usable_from_the_terminal_and_the_api() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run --demo --control-port 0");
    desk.sees("Welcome aboard");
    let wh = desk.wh();
    let port = eventually("it shows how to drive it", || {
        let screen = desk.screen();
        screen.split_once("curl http://127.0.0.1:")?.1.split_once('/')?.0.parse().ok()
    });
    desk.line("hello there");
    desk.sees("echo: hello there");
    let body = json!({"text": "and from here", "key": "enter"});
    assert_eq!(TestRequest::post_json("/control/send_input", &body).send(port).unwrap().status, 200);
    desk.sees("echo: and from here");
    let screen = plain(port);
    assert!(screen.contains("echo: hello there") && screen.contains("◆ you   and from here"), "{screen}");
    desk.tmux.send_keys(&["C-c"]);
    eventually("wh ends", || (!running(wh)).then_some(()));
    desk.is_restored();
}

#[test]
fn a_program_that_floods_the_terminal_can_be_suspended() {
    // Repeated, because the output to the terminal is not always blocked when the stop arrives.
    for _ in 0..4 {
        let Some(desk) = Desk::new() else { return };
        // Quoted so that the command line does not match its own output.
        desk.line("wh run --control-port 0 -- yes flo''oding");
        desk.sees("flooding");
        desk.tmux.send_keys(&["C-z"]);
        desk.sees("Stopped");
        desk.is_restored();
    }
}

#[test]
fn a_background_run_does_not_change_the_terminal() {
    let Some(desk) = Desk::new() else { return };
    desk.line("wh run --control-port 0 -- cat &");
    let port = desk.port();
    let body = json!({"text": "from the door"});
    assert_eq!(TestRequest::post_json("/control/send_input", &body).send(port).unwrap().status, 200);
    eventually("it echoes", || plain(port).contains("from the door").then_some(()));
    desk.line("echo still-$((1+1))-mine");
    desk.sees("still-2-mine");
    assert!(!desk.screen().contains("from the door"));
    desk.line("kill %1; wait");
    desk.is_restored();
}
