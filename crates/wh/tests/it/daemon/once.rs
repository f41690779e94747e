//! A control message is executed exactly once, even if the daemon is killed. The full trial is `wh-bench once`.

use std::fs;
use std::io::Write;
use std::path::Path;

use wh_testkit::disk::inside;
use wh_testkit::once::{DeliveryClaim, ExactlyOnceTrial, HttpClient, TrialClient, TrialDaemon, TrialMessage};
use wh_testkit::{CONDITION_TIMEOUT, eventually, tools};

use crate::WH;

#[test]
fn no_request_is_delivered_twice_or_lost_while_the_daemon_is_killed() {
    if !tools::present(&["python3"]) {
        return;
    }
    let plan =
        ExactlyOnceTrial { wh: Path::new(WH).to_owned(), requests: 300, clients: 4, sessions: 6, kills: 3, seed: 7 };
    let account = plan.run(|_| {});
    assert!(account.faults.is_empty(), "{account}\n{}", account.faults.join("\n"));
    // The trial must deliver something to be meaningful.
    assert!(account.arrived >= 250 && account.typed >= 40, "{account}");
    // Only messages to programs that ended with the daemon were not executed.
    assert!(account.not_executed.keys().all(|why| why.contains("ended")), "{account}");
    assert_eq!((account.requests, account.repeated), (306, 30), "{account}");
}

/// Sends a message once. Returns the result and the error code of the acknowledgement.
fn once(client: &mut TrialClient<'_>, message: &TrialMessage) -> (String, String, bool) {
    let ack = client.send(message, 0).expect("the daemon answers");
    let text = |field: &str| ack[field].as_str().unwrap_or_default().to_owned();
    (text("result"), text("error"), ack["duplicate"] == true)
}

fn said(result: &str, error: &str, duplicate: bool) -> (String, String, bool) {
    (result.to_owned(), error.to_owned(), duplicate)
}

/// Waits until the agent has finished a message.
fn finished(daemon: &TrialDaemon, message: &TrialMessage) {
    let mut http = HttpClient::new(&daemon.path("run/wheelhouse"));
    let path = format!("control/receipts/{}", message.request_id);
    eventually("the agent is done with it", || {
        let receipt = http.get(&message.target.session_id, &path).ok()?.json();
        assert_ne!(receipt["stage"], "failed", "{receipt}");
        (receipt["stage"] == "finished").then_some(())
    });
}

/// Returns the number of deliveries of each message.
fn delivered<const N: usize>(daemon: &TrialDaemon, names: [&str; N]) -> [usize; N] {
    let book = daemon.deliveries();
    names.map(|name| book.get(name).map_or(0, Vec::len))
}

#[test]
fn messages_queued_for_a_stalled_agent_arrive_once() {
    if !tools::present(&["python3"]) {
        return;
    }
    let mut daemon = TrialDaemon::new(Path::new(WH));
    daemon.start();
    let target = daemon.create_agent_session("deaf");
    let (socket, token) = (daemon.socket(), daemon.token());
    let mut client = TrialClient::new(&socket, &token);
    let deaf = TrialMessage { prefix: "deaf".to_owned(), ..TrialMessage::new(&target, "first") };
    assert_eq!(client.send_until_settled(&deaf, CONDITION_TIMEOUT), DeliveryClaim::Arrived { duplicate: false });
    // More than a pipe holds, so it cannot be written before the agent reads.
    let large = TrialMessage { prefix: "x".repeat(300_000), ..TrialMessage::new(&target, "large") };
    finished(&daemon, &deaf);
    assert_eq!(once(&mut client, &large), said("timeout", "under_way", false));
    assert_eq!(once(&mut client, &large), said("busy", "under_way", true));
    let other = TrialMessage::new(&target, "other");
    assert_eq!(once(&mut client, &other), said("ok", "", false), "it is queued");
    fs::write(daemon.agent_directory().join("hear"), "").unwrap();
    assert_eq!(client.send_until_settled(&large, CONDITION_TIMEOUT), DeliveryClaim::Arrived { duplicate: true });
    finished(&daemon, &other);
    assert_eq!(once(&mut client, &other), said("ok", "", true));

    // The daemon is killed before the agent has read the message.
    fs::remove_file(daemon.agent_directory().join("hear")).unwrap();
    let deaf = TrialMessage { prefix: "deaf".to_owned(), ..TrialMessage::new(&target, "again") };
    assert_eq!(client.send_until_settled(&deaf, CONDITION_TIMEOUT), DeliveryClaim::Arrived { duplicate: false });
    let lost = TrialMessage { prefix: "x".repeat(300_000), ..TrialMessage::new(&target, "lost") };
    finished(&daemon, &deaf);
    assert_eq!(once(&mut client, &lost), said("timeout", "under_way", false));
    let waits = TrialMessage::new(&target, "waits");
    assert_eq!(once(&mut client, &waits), said("ok", "", false), "it is queued");
    daemon.kill();
    fs::write(daemon.agent_directory().join("hear"), "").unwrap();
    daemon.start();
    assert_eq!(
        client.send_until_settled(&lost, CONDITION_TIMEOUT),
        DeliveryClaim::Unknown("internal_error, cut_off".to_owned())
    );
    let after = TrialMessage::new(&target, "after");
    assert_eq!(client.send_until_settled(&after, CONDITION_TIMEOUT), DeliveryClaim::Arrived { duplicate: false });
    assert_eq!(once(&mut client, &large), said("ok", "", true), "also what was heard before the kill is known");
    assert_eq!(once(&mut client, &waits), said("ok", "", true));
    finished(&daemon, &waits);
    finished(&daemon, &after);
    daemon.stop();
    daemon.wait_for_agents();
    let names = ["first", "large", "other", "again", "lost", "waits", "after"];
    assert_eq!(delivered(&daemon, names), [1, 1, 1, 1, 0, 1, 1]);
}

#[test]
fn a_full_disk_refuses_messages_and_retries_execute_them_once() {
    if !tools::present(&["python3", "unshare"]) {
        return;
    }
    let name = "daemon::once::a_full_disk_refuses_messages_and_retries_execute_them_once";
    let Some(disk) = inside(name, "size=4m,mode=700") else { return };
    let mut daemon = TrialDaemon::with_state(Path::new(WH), &disk);
    daemon.start();
    let target = daemon.create_agent_session("full");
    let (socket, token) = (daemon.socket(), daemon.token());
    let mut client = TrialClient::new(&socket, &token);
    let first = TrialMessage::new(&target, "first");
    assert_eq!(client.send_until_settled(&first, CONDITION_TIMEOUT), DeliveryClaim::Arrived { duplicate: false });
    let ballast = disk.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    // Writes that fit into the allocated log of the store still succeed.
    let (mut refused, mut sent) = (Vec::new(), Vec::new());
    for number in 0..3000 {
        let message = TrialMessage::new(&target, format!("r{number}"));
        let answer = eventually("there is room in the queue", || {
            let answer = once(&mut client, &message);
            (answer.0 != "busy").then_some(answer)
        });
        match (answer.0.as_str(), answer.1.as_str()) {
            ("ok", _) => sent.push(message),
            ("internal_error", "store") => refused.push(message),
            // The message was executed, but its result could not be stored.
            ("internal_error", "not_written") => sent.push(message),
            _ => panic!("{answer:?}"),
        }
        if refused.len() == 20 {
            break;
        }
    }
    assert_eq!(refused.len(), 20, "{} went through", sent.len());
    let book = daemon.deliveries();
    assert!(refused.iter().all(|message| !book.contains_key(&message.request_id)), "{refused:?}");
    drop(file);
    fs::remove_file(&ballast).unwrap();
    for message in &refused {
        assert_eq!(
            client.send_until_settled(message, CONDITION_TIMEOUT),
            DeliveryClaim::Arrived { duplicate: false },
            "{message:?}"
        );
    }
    for message in sent.iter().chain(&refused) {
        assert_eq!(
            client.send_until_settled(message, CONDITION_TIMEOUT),
            DeliveryClaim::Arrived { duplicate: true },
            "{message:?}"
        );
        finished(&daemon, message);
    }
    daemon.stop();
    daemon.wait_for_agents();
    let book = daemon.deliveries();
    assert_eq!(book.len(), 1 + sent.len() + refused.len());
    assert!(book.values().all(|sessions| sessions.len() == 1), "{book:?}");
}
