//! Interrupts at random moments after a prompt: receipts agree with the model's output. The full trial is `wh-bench
//! interrupts`.

use std::path::Path;

use wh_testkit::Lab;
use wh_testkit::interrupts::{InterruptReport, InterruptTrial, InterruptedTurnEnd, LabAgent};

use crate::WH;

fn receipts_agree_with_the_model(lab: &Lab, agent: LabAgent) {
    let trial = InterruptTrial { wh: Path::new(WH).to_owned(), agent, rounds: 20, seed: 7 };
    let report = trial.run(lab, |_| {});
    let tables = InterruptReport::tables(std::slice::from_ref(&report));
    assert!(report.contradictions.is_empty(), "{tables}{:#?}", report.contradictions);
    // The trial must cancel something to be meaningful.
    let cancelled = report.count(InterruptedTurnEnd::CancelledBeforeSubmission)
        + report.count(InterruptedTurnEnd::CancelledInStream);
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
