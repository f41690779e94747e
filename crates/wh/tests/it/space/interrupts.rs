//! Interrupts at random moments after a prompt: the receipts agree with what the model delivered. The full trial is
//! `wh-bench interrupts`.

use std::path::Path;

use wh_testkit::Lab;
use wh_testkit::interrupts::{InterruptReport, InterruptTrial, LabAgent, TurnFate};

use crate::WH;

fn receipts_agree_with_the_model(lab: &Lab, agent: LabAgent) {
    let trial = InterruptTrial { wh: Path::new(WH).to_owned(), agent, rounds: 20, seed: 7 };
    let report = trial.run(lab, |_| {});
    let tables = InterruptReport::tables(std::slice::from_ref(&report));
    assert!(report.contradictions.is_empty(), "{tables}{:#?}", report.contradictions);
    // A trial in which nothing is cancelled would prove nothing.
    let cancelled = report.count(TurnFate::CancelledBeforeSubmission) + report.count(TurnFate::CancelledInStream);
    assert!(report.rounds == 20 && cancelled >= 10, "{tables}");
}

#[test]
fn receipts_of_claude_agree_with_the_model() {
    Lab::inside("space::interrupts::receipts_of_claude_agree_with_the_model", |lab| {
        receipts_agree_with_the_model(lab, LabAgent::Claude);
    });
}

#[test]
fn receipts_of_codex_agree_with_the_model() {
    Lab::inside("space::interrupts::receipts_of_codex_agree_with_the_model", |lab| {
        receipts_agree_with_the_model(lab, LabAgent::Codex);
    });
}

#[test]
fn receipts_of_gemini_agree_with_the_model() {
    Lab::inside("space::interrupts::receipts_of_gemini_agree_with_the_model", |lab| {
        receipts_agree_with_the_model(lab, LabAgent::Gemini);
    });
}
