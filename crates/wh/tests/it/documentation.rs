//! Runs the shell examples of the documentation unchanged.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use wh_testkit::tools::present;

use crate::WH;

/// Returns the fenced `sh` blocks of a page, in order.
fn blocks(page: &str) -> Vec<String> {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)).expect("the page is there");
    let fenced = text.split("```sh\n").skip(1);
    fenced.map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned()).collect()
}

/// Replaces the ports of the examples with free ones.
fn with_free_ports(mut script: String) -> String {
    // All listeners stay open until all ports are known, so that the ports differ.
    let listeners: Vec<TcpListener> = (0..10).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    for (number, listener) in listeners.iter().enumerate() {
        let port = listener.local_addr().expect("an address").port();
        script = script.replace(&format!("909{number}"), &port.to_string());
    }
    script
}

fn run(script: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = format!(
        "{}:{}",
        Path::new(WH).parent().expect("a directory").display(),
        std::env::var("PATH").expect("a path")
    );
    let script = with_free_ports(format!("trap 'kill $(jobs -p) 2> /dev/null || true; wait || true' EXIT\n{script}\n"));
    let output = Command::new("bash")
        .args(["-eo", "pipefail", "-c", &script])
        .env("PATH", path)
        .env("XDG_RUNTIME_DIR", directory.path())
        .env("XDG_STATE_HOME", directory.path().join("state"))
        .env("XDG_CONFIG_HOME", directory.path().join("config"))
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .output()
        .expect("bash is there");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}\n--- of\n{script}", String::from_utf8_lossy(&said));
}

#[test]
fn the_examples_of_the_daemon_work() {
    if !present(&["bash", "jq"]) {
        return;
    }
    let blocks = blocks("docs/daemon.md");
    assert!(blocks.len() > 2, "the page has examples");
    run(&format!("trap 'wh daemon stop' EXIT\n{}", blocks.join("\n")));
}

#[test]
fn the_examples_of_the_reference_work() {
    if !present(&["bash", "curl", "jq"]) {
        return;
    }
    let blocks = blocks("docs/agent-cli-access.md");
    assert!(blocks.len() > 10, "the reference has examples");
    run(&blocks.join("\n"));
}

#[test]
fn the_readme_matches_ci_and_its_calls_work() {
    let blocks = blocks("README.md");
    let ci = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/run")).expect("CI is there");
    assert_eq!(blocks[0], "cargo run -- --control-port 9090");
    assert!(
        blocks.contains(&"cargo test --workspace --no-fail-fast".to_owned())
            && ci.lines().any(|line| line == "cargo test --workspace --no-fail-fast")
    );
    if present(&["bash", "curl", "jq"]) {
        let ready = "until curl -s localhost:9090/control/health > /dev/null; do :; done";
        run(&format!("wh --headless --control-port 9090 2> /dev/null &\n{ready}\n{}", blocks[1]));
        let use_cases = blocks.get(3..).unwrap_or_default();
        assert_eq!(use_cases.len(), 3, "the README has three use cases");
        run(&format!("trap 'wh daemon stop' EXIT\n{}", use_cases.join("\n")));
    }
}
