//! Messages to agents in their own terminal UI arrive once and unchanged, whatever the agent and a person do meanwhile.
//! The full trial is `wh-bench truth`.

use std::path::Path;

use wh_testkit::Lab;
use wh_testkit::interrupts::LabAgent;
use wh_testkit::truth::{HostileMoment, TruthReport, TruthTrial};

use crate::WH;

fn messages_do_no_harm(lab: &Lab, agent: LabAgent) {
    let moments = HostileMoment::short();
    let trial = TruthTrial { wh: Path::new(WH).to_owned(), agent, sends: 20, naive: 0, moments, seed: 7 };
    let report = trial.run(lab, |_| {});
    let tables = TruthReport::tables(std::slice::from_ref(&report));
    assert_eq!(report.verified.faults(), 0, "{tables}{}", report.faults.join("\n"));
    // The trial must send something to be meaningful.
    let arrived = report.verified.arrived + report.verified.waited;
    assert!(report.verified.sends == 20 && arrived >= 15, "{tables}{}", report.faults.join("\n"));
}

#[test]
fn messages_to_claude_arrive_and_do_no_harm() {
    Lab::inside("truth::messages_to_claude_arrive_and_do_no_harm", |lab| messages_do_no_harm(lab, LabAgent::Claude));
}

#[test]
fn messages_to_codex_arrive_and_do_no_harm() {
    Lab::inside("truth::messages_to_codex_arrive_and_do_no_harm", |lab| messages_do_no_harm(lab, LabAgent::Codex));
}

#[test]
fn messages_to_gemini_arrive_and_do_no_harm() {
    Lab::inside("truth::messages_to_gemini_arrive_and_do_no_harm", |lab| messages_do_no_harm(lab, LabAgent::Gemini));
}
