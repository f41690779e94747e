//! Rows 12 and 13: overhead of wh between a user and an agent. Turns alternate between an agent in a space of wh and
//! the same agent without wh. Both use the same scripted model.

use wh_testkit::Lab;

use super::ui::LabSamples;
use crate::agents::{AGENTS, AgentInSpace, DirectAgent};
use crate::{BenchConfig, BenchResult, print_progress};

/// Number of events in a long turn. Each event contains a part of the answer.
const LONG_TURN_EVENTS: u32 = 512;

/// Prefix of the agent's name in samples that were measured through wh.
pub const THROUGH_WH_PREFIX: &str = "wh with ";

/// Measures rows 12 and 13, if `rows` contains them.
pub fn measure(config: &BenchConfig, lab: &Lab, rows: &[u8]) -> BenchResult<Vec<LabSamples>> {
    let (rounds, long) = (config.pick(40, 2), config.pick(8, 1));
    let mut all = Vec::new();
    for agent in AGENTS {
        let (mut in_space, mut direct) = (AgentInSpace::start(config, lab, agent)?, DirectAgent::start(lab, agent)?);
        let samples = |row, name: String, values| LabSamples { row, name, values };
        let names = || (format!("{THROUGH_WH_PREFIX}{}", agent.name), agent.name.to_owned());
        for (row, rounds) in [(12, rounds), (13, long)] {
            if !rows.contains(&row) {
                continue;
            }
            let (mut ours, mut bare) = (Vec::new(), Vec::new());
            for round in 0..=rounds {
                let text = if row == 12 { format!("hello {round}") } else { format!("fast: {LONG_TURN_EVENTS}") };
                let (one, other) = (in_space.turn(&text)?, direct.turn(&text)?);
                // The first turn is a warm-up.
                if round > 0 && row == 12 {
                    ours.push(one.first);
                    bare.push(other.first);
                } else if round > 0 {
                    ours.push(one.whole / f64::from(LONG_TURN_EVENTS));
                    bare.push(other.whole / f64::from(LONG_TURN_EVENTS));
                }
            }
            let (with, alone) = names();
            all.extend([samples(row, with, ours), samples(row, alone, bare)]);
            print_progress(&format!("row {row}: {} turns of {}, through wh and directly", rounds, agent.name));
        }
    }
    Ok(all)
}
