//! A control message is carried out once, whatever happens to the daemon meanwhile. The full trial is `wh-bench once`.

use std::fs;
use std::io::Write;
use std::path::Path;

use wh_testkit::disk::inside;
use wh_testkit::once::{Claim, Client, House, HttpClient, Message, Plan};
use wh_testkit::{PATIENCE, eventually, tools};

use crate::WH;

#[test]
fn no_request_is_delivered_twice_or_lost_while_the_daemon_is_killed() {
    if !tools::present(&["python3"]) {
        return;
    }
    let plan = Plan { wh: Path::new(WH).to_owned(), requests: 300, clients: 4, sessions: 6, kills: 3, seed: 7 };
    let account = plan.run(|_| {});
    assert!(account.faults.is_empty(), "{account}\n{}", account.faults.join("\n"));
    // A trial in which nothing arrives would prove nothing.
    assert!(account.arrived >= 250 && account.typed >= 40, "{account}");
    // Only for programs that had ended with the daemon was nothing done.
    assert!(account.nothing.keys().all(|why| why.contains("ended")), "{account}");
    assert_eq!((account.requests, account.repeated), (306, 30), "{account}");
}

/// Sends it once; how it was acknowledged, in a word and in a word for programs.
fn once(client: &mut Client<'_>, message: &Message) -> (String, String, bool) {
    let ack = client.send(message, 0).expect("the daemon answers");
    let text = |field: &str| ack[field].as_str().unwrap_or_default().to_owned();
    (text("result"), text("error"), ack["duplicate"] == true)
}

fn said(result: &str, error: &str, duplicate: bool) -> (String, String, bool) {
    (result.to_owned(), error.to_owned(), duplicate)
}

/// Waits until the agent is done with a message.
fn finished(house: &House, message: &Message) {
    let mut http = HttpClient::new(&house.at("run/wheelhouse"));
    let path = format!("control/receipts/{}", message.request_id);
    eventually("the agent is done with it", || {
        let receipt = http.get(&message.target.session_id, &path).ok()?.json();
        assert_ne!(receipt["stage"], "failed", "{receipt}");
        (receipt["stage"] == "finished").then_some(())
    });
}

/// How often each of these was delivered.
fn delivered<const N: usize>(house: &House, names: [&str; N]) -> [usize; N] {
    let book = house.book();
    names.map(|name| book.get(name).map_or(0, Vec::len))
}

#[test]
fn what_waits_for_an_agent_that_does_not_read_arrives_once() {
    if !tools::present(&["python3"]) {
        return;
    }
    let mut house = House::new(Path::new(WH));
    house.start();
    let target = house.session("deaf");
    let (socket, token) = (house.socket(), house.token());
    let mut client = Client::new(&socket, &token);
    let deaf = Message { prefix: "deaf".to_owned(), ..Message::new(&target, "first") };
    assert_eq!(client.insist(&deaf, PATIENCE), Claim::Arrived { duplicate: false });
    // More than a pipe holds: it cannot be written before the agent reads.
    let large = Message { prefix: "x".repeat(300_000), ..Message::new(&target, "large") };
    finished(&house, &deaf);
    assert_eq!(once(&mut client, &large), said("timeout", "under_way", false));
    assert_eq!(once(&mut client, &large), said("busy", "under_way", true));
    let other = Message::new(&target, "other");
    assert_eq!(once(&mut client, &other), said("ok", "", false), "it is queued");
    fs::write(house.place().join("hear"), "").unwrap();
    assert_eq!(client.insist(&large, PATIENCE), Claim::Arrived { duplicate: true });
    finished(&house, &other);
    assert_eq!(once(&mut client, &other), said("ok", "", true));

    // The same, and the daemon is killed before the agent has read it.
    fs::remove_file(house.place().join("hear")).unwrap();
    let deaf = Message { prefix: "deaf".to_owned(), ..Message::new(&target, "again") };
    assert_eq!(client.insist(&deaf, PATIENCE), Claim::Arrived { duplicate: false });
    let lost = Message { prefix: "x".repeat(300_000), ..Message::new(&target, "lost") };
    finished(&house, &deaf);
    assert_eq!(once(&mut client, &lost), said("timeout", "under_way", false));
    let waits = Message::new(&target, "waits");
    assert_eq!(once(&mut client, &waits), said("ok", "", false), "it is queued");
    house.kill();
    fs::write(house.place().join("hear"), "").unwrap();
    house.start();
    assert_eq!(client.insist(&lost, PATIENCE), Claim::Unknown("internal_error, cut_off".to_owned()));
    let after = Message::new(&target, "after");
    assert_eq!(client.insist(&after, PATIENCE), Claim::Arrived { duplicate: false });
    assert_eq!(once(&mut client, &large), said("ok", "", true), "also what was heard before the kill is known");
    assert_eq!(once(&mut client, &waits), said("ok", "", true));
    finished(&house, &waits);
    finished(&house, &after);
    house.stop();
    house.book_closed();
    let names = ["first", "large", "other", "again", "lost", "waits", "after"];
    assert_eq!(delivered(&house, names), [1, 1, 1, 1, 0, 1, 1]);
}

#[test]
fn on_a_full_disk_nothing_is_done_and_afterwards_everything_once() {
    if !tools::present(&["python3", "unshare"]) {
        return;
    }
    let name = "daemon::once::on_a_full_disk_nothing_is_done_and_afterwards_everything_once";
    let Some(disk) = inside(name, "size=4m,mode=700") else { return };
    let mut house = House::keeping(Path::new(WH), &disk);
    house.start();
    let target = house.session("full");
    let (socket, token) = (house.socket(), house.token());
    let mut client = Client::new(&socket, &token);
    let first = Message::new(&target, "first");
    assert_eq!(client.insist(&first, PATIENCE), Claim::Arrived { duplicate: false });
    let ballast = disk.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    // What the log of the store has room for already still goes through.
    let (mut refused, mut sent) = (Vec::new(), Vec::new());
    for number in 0..3000 {
        let message = Message::new(&target, format!("r{number}"));
        let answer = eventually("there is room in the queue", || {
            let answer = once(&mut client, &message);
            (answer.0 != "busy").then_some(answer)
        });
        match (answer.0.as_str(), answer.1.as_str()) {
            ("ok", _) => sent.push(message),
            ("internal_error", "store") => refused.push(message),
            // It was carried out, and only that could not be written down.
            ("internal_error", "not_written") => sent.push(message),
            _ => panic!("{answer:?}"),
        }
        if refused.len() == 20 {
            break;
        }
    }
    assert_eq!(refused.len(), 20, "{} went through", sent.len());
    let book = house.book();
    assert!(refused.iter().all(|message| !book.contains_key(&message.request_id)), "{refused:?}");
    drop(file);
    fs::remove_file(&ballast).unwrap();
    for message in &refused {
        assert_eq!(client.insist(message, PATIENCE), Claim::Arrived { duplicate: false }, "{message:?}");
    }
    for message in sent.iter().chain(&refused) {
        assert_eq!(client.insist(message, PATIENCE), Claim::Arrived { duplicate: true }, "{message:?}");
        finished(&house, message);
    }
    house.stop();
    house.book_closed();
    let book = house.book();
    assert_eq!(book.len(), 1 + sent.len() + refused.len());
    assert!(book.values().all(|sessions| sessions.len() == 1), "{book:?}");
}
