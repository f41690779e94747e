//! Codex with its Agent Client Protocol adapter: an agent defined only by the table.

use std::fs;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually, process};

use super::{answer, ask, chats, finished, option, question};
use crate::WH;

/// Starts a space with it in the lab, in a mode in which it asks the user instead of another model.
fn codex(lab: &Lab, flags: &[&str]) -> Wh {
    let wh = Wh::options(WH).space().environment(lab.env()).directory(&lab.project);
    wh.flags(&["--agent", "codex-acp", "--mode", "workspace-write"]).flags(flags).start(&[])
}

/// Returns the last model request that contains this text.
fn request(lab: &Lab, text: &str) -> String {
    let bodies: Vec<String> = lab.model.requests().iter().map(|request| request.body.to_string()).collect();
    bodies.into_iter().rfind(|body| body.contains(text)).unwrap_or_else(|| panic!("the model was asked {text}"))
}

#[test]
fn the_adapter_answers_and_asks_for_permission() {
    Lab::inside("space::codex_acp::the_adapter_answers_and_asks_for_permission", |lab| {
        let wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "hello there")["stage"], "finished");
        let said = ("codex-acp".to_owned(), "echo: hello there".to_owned());
        assert!(chats(&wh).contains(&said), "{:?}", chats(&wh));

        let call =
            json!({"cmd": "touch granted.txt", "sandbox_permissions": "require_escalated", "justification": "x"});
        wh.post("/message", json!({ "message": format!("call: exec_command {call}"), "request_id": "r1" }));
        let asked = question(&wh);
        assert_eq!(asked["kind"], "permission");
        assert!(asked["details"].to_string().contains("touch granted.txt"), "{asked}");
        assert_eq!(answer(&wh, asked["id"].as_str().unwrap(), &option(&asked, "allow_once")).status, 200);
        assert_eq!(finished(&wh, "r1")["stage"], "finished");
        assert!(lab.project.join("granted.txt").exists());
    });
}

#[test]
fn a_session_resumes_after_a_kill_and_in_another_wh() {
    Lab::inside("space::codex_acp::a_session_resumes_after_a_kill_and_in_another_wh", |lab| {
        let mut wh = codex(lab, &[]);
        assert_eq!(ask(&wh, "remember the wheel")["stage"], "finished");
        let adapter = eventually("it runs", || {
            process::descendants(wh.pid()).into_iter().rfind(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line);
                line.contains("codex-acp") && !line.contains("__keep") && !line.contains("app-server")
            })
        });
        kill(adapter, Signal::SIGKILL).unwrap();
        wh.wait(r#"screen_contains "is gone""#);
        assert_eq!(ask(&wh, "and now?")["stage"], "finished");
        assert!(request(lab, "and now?").contains("remember the wheel"), "the model is told what was said before");
        let said = chats(&wh).into_iter().filter(|(_, text)| text.contains("remember the wheel")).count();
        assert_eq!(said, 2, "what was said before is not told again: {:?}", chats(&wh));
        wh.signal(Signal::SIGTERM);
        wh.wait_exit(wh_testkit::CONDITION_TIMEOUT);

        let wh = codex(lab, &["--continue"]);
        assert_eq!(ask(&wh, "number two")["stage"], "finished");
        assert!(request(lab, "number two").contains("remember the wheel"));
    });
}
