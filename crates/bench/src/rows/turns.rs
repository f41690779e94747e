//! Rows 12 and 13: what wh costs between a person and an agent. The same real agent, with the same scripted model, is
//! spoken to through a space and straight, in turns.

use wh_testkit::Lab;

use super::ui::Samples;
use crate::talks::{AGENTS, Straight, Through};
use crate::{Outcome, Setting, say};

/// Events of a long turn: the model says so many pieces.
const EVENTS: u32 = 512;

/// What stands before an agent's name where wh is between.
pub const THROUGH: &str = "wh with ";

/// Measures these rows, of those that are here.
pub fn measure(setting: &Setting, lab: &Lab, rows: &[u8]) -> Outcome<Vec<Samples>> {
    let (rounds, long) = (setting.pick(40, 2), setting.pick(8, 1));
    let mut all = Vec::new();
    for agent in AGENTS {
        let (mut through, mut straight) = (Through::start(setting, lab, agent)?, Straight::start(lab, agent)?);
        let samples = |row, name: String, values| Samples { row, name, values };
        let names = || (format!("{THROUGH}{}", agent.name), agent.name.to_owned());
        for (row, rounds) in [(12, rounds), (13, long)] {
            if !rows.contains(&row) {
                continue;
            }
            let (mut ours, mut bare) = (Vec::new(), Vec::new());
            for round in 0..=rounds {
                let text = if row == 12 { format!("hello {round}") } else { format!("fast: {EVENTS}") };
                let (one, other) = (through.turn(&text)?, straight.turn(&text)?);
                // The first turn warms up.
                if round > 0 && row == 12 {
                    ours.push(one.first);
                    bare.push(other.first);
                } else if round > 0 {
                    ours.push(one.whole / f64::from(EVENTS));
                    bare.push(other.whole / f64::from(EVENTS));
                }
            }
            let (with, alone) = names();
            all.extend([samples(row, with, ours), samples(row, alone, bare)]);
            say(&format!("row {row}: {} turns of {} each way", rounds, agent.name));
        }
    }
    Ok(all)
}
