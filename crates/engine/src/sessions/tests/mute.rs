//! An agent that says nothing, not even by what it can be gone on with; unless it is told how it is to be called.

use wh_agents::port::{
    Agent, AgentFacts, BoxFuture, Harness, Inside, Installation, LoginState, Readiness, Start, StartError, Surroundings,
};
use wh_core::space::harness::{Call, Capabilities, Order, Outcome, Report};

pub(super) struct Mute;

impl Agent for Mute {
    fn facts(&self) -> AgentFacts {
        AgentFacts { id: "mute".into(), title: "Mute".into(), install_hint: None, login_hint: None }
    }

    fn check<'a>(&'a self, _here: &'a Surroundings) -> BoxFuture<'a, Readiness> {
        Box::pin(async { Readiness { installation: Installation::BuiltIn, login: LoginState::NotNeeded, hint: None } })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, Result<Harness, StartError>> {
        Box::pin(async move {
            assert!(start.resume.is_none(), "nothing of it can be gone on with");
            let (harness, inside) = Harness::new();
            tokio::spawn(live(inside));
            Ok(harness)
        })
    }
}

async fn live(mut inside: Inside) {
    let can = Capabilities { calls: vec!["restart".into()], ..Capabilities::default() };
    let _ = inside.reports.send(Report::Ready(can)).await;
    while let Some(order) = inside.orders.recv().await {
        let reports = match order {
            Order::Prompt { turn, text, .. } => {
                let name = text.strip_prefix("call me ").map(|name| Report::Kept(Some(name.to_owned())));
                let ended = Report::Ended(turn.clone(), Outcome::Completed);
                [Report::Delivered(turn), ended].into_iter().chain(name).collect()
            }
            Order::Call { id, call: Call::Restart } => {
                vec![Report::Kept(None), Report::Called(id, Ok(serde_json::Value::Null))]
            }
            _ => vec![],
        };
        for report in reports {
            let _ = inside.reports.send(report).await;
        }
    }
    let _ = inside.reports.send(Report::Gone(None)).await;
}
