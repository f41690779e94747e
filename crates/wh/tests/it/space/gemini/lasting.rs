//! Sessions of Gemini CLI that outlive its processes.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use serde_json::json;
use wh_testkit::wh::Wh;
use wh_testkit::{Lab, eventually};

use super::super::{answer, ask, finished, question};
use super::{gemini, process_of, request};

/// Kills the agent and waits until wh has noticed.
fn killed(wh: &Wh, times: usize) {
    kill(process_of(wh), Signal::SIGKILL).unwrap();
    eventually("wh has seen it", || {
        let messages = wh.get("/control/messages?limit=1000").text();
        (messages.matches("in the same conversation").count() >= times).then_some(())
    });
}

/// Returns wh's copies of Gemini's sessions.
fn copies(lab: &Lab) -> Vec<PathBuf> {
    let folder = lab.home.join(".local/state/wheelhouse/conversations/gemini");
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect()
}

#[test]
fn the_model_still_has_every_message_after_five_kills() {
    Lab::inside("space::gemini::lasting::the_model_still_has_every_message_after_five_kills", |lab| {
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

#[test]
fn a_deleted_session_file_is_restored_and_missing_messages_are_reported() {
    let name = "space::gemini::lasting::a_deleted_session_file_is_restored_and_missing_messages_are_reported";
    Lab::inside(name, |lab| {
        let wh = gemini(lab, &[]);
        assert_eq!(ask(&wh, "mark-a0")["stage"], "finished");
        killed(&wh, 1);
        assert_eq!(ask(&wh, "mark-a1")["stage"], "finished", "the copy is from before this message");
        killed(&wh, 2);
        let projects = lab.home.join(".gemini/tmp");
        fs::create_dir_all(projects.join("other/chats")).unwrap();
        for project in fs::read_dir(&projects).unwrap() {
            let chats = project.unwrap().path().join("chats");
            for file in fs::read_dir(chats).into_iter().flatten() {
                fs::remove_file(file.unwrap().path()).unwrap();
            }
        }
        wh.post("/message", json!({ "message": "mark-a2", "request_id": "r3" }));
        let asked = question(&wh);
        let title = asked["title"].as_str().unwrap();
        assert!(title.contains("without 1 of 2 messages"), "{asked}");
        assert!(wh.get("/control/messages?limit=1000").text().contains("was restored from wh's copy"));
        assert_eq!(fs::read_dir(projects.join("other/chats")).unwrap().count(), 0);
        assert_eq!(answer(&wh, asked["id"].as_str().unwrap(), "go-on").status, 200);
        assert_eq!(finished(&wh, "r3")["stage"], "finished");
        assert!(request(lab, "mark-a2").contains("mark-a0"), "the model is told what the copy has");
    });
}
