//! A conversation of Gemini CLI that outlives its processes.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::super::{ask, finished};
use super::{gemini, process_of, request};

/// Kills the agent, and waits until wh has seen that.
fn killed(wh: &Wh, times: usize) {
    kill(process_of(wh), Signal::SIGKILL).unwrap();
    eventually("wh has seen it", || {
        let messages = wh.get("/control/messages?limit=1000").text();
        (messages.matches("in the same conversation").count() >= times).then_some(())
    });
}

/// The copies that wh has of Gemini's conversations.
fn copies(lab: &Lab) -> Vec<PathBuf> {
    let folder = lab.home.join(".local/state/wheelhouse/conversations/gemini");
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn killed_five_times_the_model_still_knows_every_message() {
    Lab::inside("space::gemini::lasting::killed_five_times_the_model_still_knows_every_message", |lab| {
        let wh = gemini(lab, &[]);
        let mut said = vec!["mark-a0".to_owned()];
        assert_eq!(ask(&wh, "mark-a0")["stage"], "finished");
        for (number, streams) in [false, true, false, false, true].into_iter().enumerate() {
            if streams {
                let id = format!("slow-{number}");
                wh.post("/message", json!({ "message": "slow: 600", "request_id": id }));
                let streaming = format!("slow-{number}");
                eventually("it streams", || {
                    (wh.get(&format!("/control/receipts/{streaming}")).json()["stage"] == "started").then_some(())
                });
                killed(&wh, number + 1);
                let receipt = finished(&wh, &id);
                assert!(receipt["reason"].as_str().unwrap().starts_with("cut_off: "), "{receipt}");
            } else {
                killed(&wh, number + 1);
            }
            let mark = format!("mark-b{number}");
            let receipt = ask(&wh, &mark);
            assert_eq!(receipt["stage"], "finished", "after {} kills: {receipt}\n{}", number + 1, wh.plain());
            said.push(mark.clone());
            let told = request(lab, &mark);
            let lost: Vec<&String> = said.iter().filter(|text| !told.contains(text.as_str())).collect();
            assert!(lost.is_empty(), "after {} kills the model is not told {lost:?}", number + 1);
        }
        let copies = copies(lab);
        assert_eq!(copies.len(), 1, "the file always had everything of its copy: {copies:?}");
        let questions = wh.get("/control/questions").json();
        assert_eq!(questions["questions"], json!([]), "nothing was lost, and nobody is asked");
    });
}
