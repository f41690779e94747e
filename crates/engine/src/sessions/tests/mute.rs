//! An agent without a resume id, unless a prompt "call me NAME" sets one.

use wh_agents::interface::{
    Agent, AgentFacts, AgentStartError, BoxFuture, Harness, HarnessTaskChannels, Installation, LoginState,
    QueryContext, Readiness, StartOptions,
};
use wh_core::space::harness::{Call, Order, Report, ReportedCapabilities, TurnOutcome};

pub(super) struct Mute;

impl Agent for Mute {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "mute".into(), title: "Mute".into(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a QueryContext) -> BoxFuture<'a, Readiness> {
        Box::pin(async { Readiness { installation: Installation::BuiltIn, login: LoginState::NotNeeded, hint: None } })
    }

    fn start(&self, start: StartOptions) -> BoxFuture<'_, Result<Harness, AgentStartError>> {
        Box::pin(async move {
            assert!(start.resume.is_none(), "it has no conversation to resume");
            let (harness, inside) = Harness::new();
            tokio::spawn(live(inside));
            Ok(harness)
        })
    }
}

async fn live(mut inside: HarnessTaskChannels) {
    let can = ReportedCapabilities { calls: vec!["restart".into()], ..ReportedCapabilities::default() };
    let _ = inside.reports.send(Report::Ready(can)).await;
    while let Some(order) = inside.orders.recv().await {
        let reports = match order {
            Order::Prompt { turn, text, .. } => {
                let name = text.strip_prefix("call me ").map(|name| Report::ResumeId(Some(name.to_owned())));
                let ended = Report::Ended(turn.clone(), TurnOutcome::Completed);
                [Report::Delivered(turn), ended].into_iter().chain(name).collect()
            }
            Order::Call { id, call: Call::Restart } => {
                vec![Report::ResumeId(None), Report::Called(id, Ok(serde_json::Value::Null))]
            }
            _ => vec![],
        };
        for report in reports {
            let _ = inside.reports.send(report).await;
        }
    }
    let _ = inside.reports.send(Report::Gone(None)).await;
}
