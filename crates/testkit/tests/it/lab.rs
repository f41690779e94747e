//! The real CLIs against the scripted model.

use std::panic::catch_unwind;
use std::process::Command;

use wh_testkit::deadline::wait_until;
use wh_testkit::{CONDITION_TIMEOUT, Lab, Tmux};

/// Runs a CLI and returns its stdout.
fn stdout(command: &mut Command) -> String {
    let output = command.output().expect("the CLI starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

#[test]
fn claude_hears_the_echo() {
    Lab::inside("lab::claude_hears_the_echo", |lab| {
        let said = stdout(lab.command("claude").args(["-p", "hello there"]));
        assert_eq!(said.trim(), "echo: hello there");
    });
}

#[test]
fn codex_hears_the_echo() {
    Lab::inside("lab::codex_hears_the_echo", |lab| {
        let said = stdout(lab.command("codex").args(["exec", "--json", "--skip-git-repo-check", "hello there"]));
        assert!(said.contains(r#""text":"echo: hello there""#), "{said}");
    });
}

#[test]
fn gemini_hears_the_echo() {
    Lab::inside("lab::gemini_hears_the_echo", |lab| {
        let said = stdout(lab.command("gemini").args(["-m", "gemini-2.5-flash", "-p", "hello there"]));
        assert_eq!(said.trim(), "echo: hello there");
    });
}

#[test]
fn nothing_of_the_users_environment_gets_in() {
    Lab::inside("lab::nothing_of_the_users_environment_gets_in", |lab| {
        let seen = stdout(&mut lab.command("env"));
        let names: Vec<_> = seen.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        let given: Vec<_> = lab.env().into_iter().map(|(name, _)| name).collect();
        assert!(names.iter().all(|name| given.iter().any(|given| given == name)), "{seen}");
        assert!(seen.contains(&format!("HOME={}", lab.home.display())), "{seen}");
        let interfaces = stdout(lab.command("ip").args(["-oneline", "link", "show"]));
        assert!(interfaces.lines().all(|line| line.contains(" lo: ")), "{interfaces}");
    });
}

#[test]
fn an_unknown_test_name_is_a_failure() {
    if Lab::available().is_err() {
        return;
    }
    let panic = catch_unwind(|| Lab::inside("lab::misspelt", |_| {})).unwrap_err();
    let message = panic.downcast_ref::<String>().expect("a panic has a message");
    assert!(message.contains("no test named \"lab::misspelt\" ran inside the lab"), "{message}");
}

/// Starts a CLI in a terminal, waits for its prompt and runs one turn.
fn chat(lab: &Lab, cli: &str, composer: &str) {
    let options = Tmux::options(100, 30).environment(lab.env()).directory(&lab.project);
    let tmux = options.start(&[cli]);
    tmux.wait_for(composer);
    tmux.send_text("hello there");
    tmux.wait_for("hello there");
    // Gemini CLI drops an Enter that follows the text too quickly. An Enter on an empty prompt has no effect.
    let answered = (0..10).any(|_| {
        tmux.send_keys(&["Enter"]);
        let echo = || tmux.capture().iter().any(|row| row.contains("echo: hello there")).then_some(());
        wait_until(CONDITION_TIMEOUT / 10, echo).is_some()
    });
    assert!(answered, "no answer; the screen is\n{}", tmux.capture().join("\n"));
    assert_eq!(lab.model.prompts(), ["hello there"]);
}

#[test]
fn claude_comes_up_at_its_composer() {
    Lab::inside("lab::claude_comes_up_at_its_composer", |lab| chat(lab, "claude", "? for shortcuts"));
}

#[test]
fn codex_comes_up_at_its_composer() {
    Lab::inside("lab::codex_comes_up_at_its_composer", |lab| chat(lab, "codex", "Ask Codex to do anything"));
}

#[test]
fn gemini_comes_up_at_its_composer() {
    Lab::inside("lab::gemini_comes_up_at_its_composer", |lab| chat(lab, "gemini", "Type your message"));
}
