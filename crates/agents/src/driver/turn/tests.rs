use super::*;

fn turn(number: u32) -> TurnId {
    TurnId::from(format!("t{number}").as_str())
}

fn prompt(number: u32) -> Prompt {
    Prompt { turn: turn(number), text: format!("do {number}") }
}

fn delivered(number: u32) -> TurnEffect {
    TurnEffect::Report(Report::Delivered(turn(number)))
}

fn submitted(number: u32) -> TurnEffect {
    TurnEffect::Report(Report::Submitted(turn(number)))
}

fn started(number: u32) -> TurnEffect {
    TurnEffect::Report(Report::Started(turn(number)))
}

fn ended(number: u32, outcome: TurnOutcome) -> TurnEffect {
    TurnEffect::Report(Report::Ended(turn(number), outcome))
}

fn did(outcome: Result<(), &str>) -> TurnEffect {
    TurnEffect::Report(Report::Acked(AckedOrder::Interrupt, outcome.map_err(str::to_owned)))
}

fn interrupt(number: u32) -> TurnEffect {
    TurnEffect::Interrupt(Some(turn(number)))
}

fn is_notice(effect: &TurnEffect, words: &str) -> bool {
    matches!(effect, TurnEffect::Report(Report::Notice(_, text)) if text.contains(words))
}

/// Creates turns with one prompt in a phase.
fn in_phase(phase: PromptPhase) -> TurnMachine {
    let mut turns = TurnMachine::new("Agent", true);
    assert_eq!(turns.prompt(prompt(1)), [TurnEffect::Prompt(prompt(1))]);
    turns.advance(phase);
    turns
}

/// Interrupts the current turn and records that the frame was queued.
fn interrupted(turns: &mut TurnMachine, at: Instant) {
    assert_eq!(turns.interrupt(at), [interrupt(1)]);
    turns.interrupt_queued();
}

#[test]
fn a_prompt_goes_through_its_stages_and_each_is_reported_once() {
    let mut turns = TurnMachine::new("Agent", true);
    assert_eq!(turns.prompt(prompt(1)), [TurnEffect::Prompt(prompt(1))]);
    assert_eq!(turns.written(&turn(1)), [delivered(1)]);
    assert_eq!(turns.written(&turn(1)), []);
    assert_eq!(turns.submitted(&turn(1)), [submitted(1)]);
    assert_eq!(turns.begun(), [started(1)]);
    assert_eq!(turns.begun(), []);
    assert_eq!(turns.ended(TurnOutcome::Completed), [TurnEffect::Close, ended(1, TurnOutcome::Completed)]);
    assert!(!turns.is_busy());
}

#[test]
fn a_sign_of_work_proves_the_stages_before_it() {
    let mut turns = in_phase(PromptPhase::Queued);
    assert_eq!(turns.begun(), [delivered(1), submitted(1), started(1)]);
    assert_eq!(turns.written(&turn(1)), [], "the system reports it late");
}

#[test]
fn an_end_without_work_is_nothing() {
    let mut turns = TurnMachine::new("Agent", true);
    assert_eq!(turns.ended(TurnOutcome::Completed), []);
    assert_eq!(turns.begun(), []);
    assert_eq!(turns.submitted(&turn(9)), []);
    assert_eq!(turns.written(&turn(9)), []);
    assert_eq!(turns.overdue(Instant::now()), []);
}

#[test]
fn a_prompt_waits_while_the_agent_is_busy_with_something_else() {
    let mut turns = TurnMachine::new("Agent", true);
    assert_eq!(turns.occupy(true), []);
    assert_eq!(turns.prompt(prompt(1)), []);
    assert_eq!(turns.occupy(false), [TurnEffect::Prompt(prompt(1))]);
    let mut turns = TurnMachine::new("Agent", true);
    assert_eq!(turns.own_work(), [TurnEffect::Report(Report::SelfStarted)]);
    assert_eq!(turns.own_work(), []);
    assert_eq!(turns.prompt(prompt(1)), []);
    let rested = TurnEffect::Report(Report::SelfEnded(TurnOutcome::Completed));
    assert_eq!(turns.ended(TurnOutcome::Completed), [TurnEffect::Close, rested, TurnEffect::Prompt(prompt(1))]);
}

#[test]
fn an_interrupt_is_settled_by_the_end_of_the_turn() {
    for outcome in [TurnOutcome::Cancelled, TurnOutcome::Completed, TurnOutcome::Failed("HTTP 500".to_owned())] {
        let mut turns = in_phase(PromptPhase::Begun);
        interrupted(&mut turns, Instant::now());
        turns.interrupt_written(Some(&turn(1)));
        turns.interrupt_answered(Some(&turn(1)), Ok(()));
        assert_eq!(turns.ended(outcome.clone()), [TurnEffect::Close, did(Ok(())), ended(1, outcome)]);
    }
}

#[test]
fn a_refusal_counts_only_if_the_turn_goes_on() {
    let at = Instant::now();
    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, at);
    turns.interrupt_answered(Some(&turn(1)), Err("no such turn".to_owned()));
    assert_eq!(turns.ended(TurnOutcome::Cancelled), [TurnEffect::Close, did(Ok(())), ended(1, TurnOutcome::Cancelled)]);

    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, at);
    turns.interrupt_answered(Some(&turn(1)), Err("not now".to_owned()));
    let effects = turns.overdue(at + INTERRUPT_GRACE);
    assert!(is_notice(&effects[0], "the agent was not interrupted: not now"));
    assert_eq!(effects[1..], [did(Err("not now"))]);
    assert!(turns.is_working() && !turns.is_interrupted(), "the turn goes on, and can be interrupted again");
    interrupted(&mut turns, at);
}

#[test]
fn an_interrupt_before_the_turn_has_begun_is_sent_again_when_it_begins() {
    let mut turns = in_phase(PromptPhase::Written);
    interrupted(&mut turns, Instant::now());
    turns.interrupt_answered(Some(&turn(1)), Ok(()));
    assert_eq!(turns.submitted(&turn(1)), [submitted(1)]);
    assert_eq!(turns.begun(), [started(1), interrupt(1)]);
    turns.interrupt_queued();
    assert_eq!(turns.begun(), []);
}

#[test]
fn an_interrupt_that_cannot_be_sent_yet_is_sent_at_the_next_stage() {
    let mut turns = in_phase(PromptPhase::Queued);
    // The protocol cannot name the turn yet, so no frame is sent.
    assert_eq!(turns.interrupt(Instant::now()), [interrupt(1)]);
    assert_eq!(turns.written(&turn(1)), [delivered(1), interrupt(1)]);
    assert_eq!(turns.submitted(&turn(1)), [submitted(1), interrupt(1)]);
    turns.interrupt_queued();
    assert_eq!(turns.begun(), [started(1), interrupt(1)]);
}

#[test]
fn a_turn_that_does_not_stop_in_time_is_cancelled_all_the_same() {
    let at = Instant::now();
    // Acknowledged, written without an acknowledgement, and not written.
    let cases = [
        (true, true, Ok(())),
        (true, false, Err("the agent has not acknowledged the interrupt")),
        (false, false, Err(NOT_READING)),
    ];
    for (written, acknowledged, outcome) in cases {
        let mut turns = in_phase(PromptPhase::Begun);
        interrupted(&mut turns, at);
        if written {
            turns.interrupt_written(Some(&turn(1)));
        }
        if acknowledged {
            turns.interrupt_answered(Some(&turn(1)), Ok(()));
        }
        assert_eq!(turns.deadline(), Some(at + INTERRUPT_GRACE));
        assert_eq!(turns.overdue(at), [], "there is time left");
        let effects = turns.overdue(at + INTERRUPT_GRACE);
        assert!(is_notice(&effects[0], "Agent has not stopped within 5s"), "{effects:?}");
        assert_eq!(effects[1..], [TurnEffect::Close, did(outcome), ended(1, TurnOutcome::Cancelled)]);
        assert_eq!(turns.ended(TurnOutcome::Completed), [], "a late end is of no turn");
    }
}

#[test]
fn without_acknowledgements_a_written_interrupt_has_arrived() {
    let at = Instant::now();
    let mut turns = TurnMachine::new("Agent", false);
    turns.prompt(prompt(1));
    turns.begun();
    interrupted(&mut turns, at);
    turns.interrupt_written(Some(&turn(1)));
    let effects = turns.overdue(at + INTERRUPT_GRACE);
    assert_eq!(effects[1..], [TurnEffect::Close, did(Ok(())), ended(1, TurnOutcome::Cancelled)]);
}

#[test]
fn a_turn_that_was_given_up_is_interrupted_when_the_agent_takes_it_after_all() {
    let at = Instant::now();
    let mut turns = in_phase(PromptPhase::Queued);
    // The protocol cannot name the turn yet, so no interrupt is queued behind the prompt.
    assert_eq!(turns.interrupt(at), [interrupt(1)]);
    let effects = turns.overdue(at + INTERRUPT_GRACE);
    let end =
        [TurnEffect::Discard(turn(1)), TurnEffect::Close, did(Err(NOT_READING)), ended(1, TurnOutcome::Cancelled)];
    assert_eq!(effects[1..], end);
    assert_eq!(turns.prompt(prompt(2)), [TurnEffect::Prompt(prompt(2))]);
    assert_eq!(turns.begun(), [], "a sign of work may be of the turn before");
    assert_eq!(turns.written(&turn(1)), [interrupt(1)], "half of it was written, and now it is whole");
    assert_eq!(turns.written(&turn(2)), [delivered(2)]);
    assert_eq!(turns.begun(), [submitted(2), started(2)]);
    assert_eq!(turns.submitted(&turn(1)), [interrupt(1)], "and when the agent names it");
    assert_eq!(turns.submitted(&turn(1)), []);
}

#[test]
fn an_interrupt_that_is_queued_behind_its_prompt_is_not_sent_again_behind_the_next() {
    let at = Instant::now();
    let mut turns = in_phase(PromptPhase::Queued);
    interrupted(&mut turns, at);
    turns.overdue(at + INTERRUPT_GRACE);
    turns.prompt(prompt(2));
    assert_eq!(turns.written(&turn(1)), [], "the one that is queued follows at once");
    assert_eq!(turns.written(&turn(2)), [delivered(2)]);
}

#[test]
fn what_the_agent_still_does_after_a_turn_was_given_up_can_be_interrupted() {
    let at = Instant::now();
    let mut turns = TurnMachine::new("Agent", true);
    turns.occupy(true);
    assert_eq!(turns.interrupt(at), [TurnEffect::InterruptOccupation]);
    turns.interrupt_occupation(at);
    turns.interrupt_queued();
    let rested = TurnEffect::Report(Report::SelfEnded(TurnOutcome::Cancelled));
    assert_eq!(turns.ended(TurnOutcome::Cancelled), [TurnEffect::Close, did(Ok(())), rested]);
}

#[test]
fn an_interrupt_cancels_what_waits_and_with_nothing_under_way_is_done() {
    let mut turns = TurnMachine::new("Agent", true);
    turns.occupy(true);
    turns.prompt(prompt(1));
    assert_eq!(turns.interrupt(Instant::now()), [ended(1, TurnOutcome::Cancelled), did(Ok(()))]);
    assert_eq!(turns.occupy(false), [], "it is never sent");
    assert_eq!(turns.interrupt(Instant::now()), [did(Ok(()))]);
}

#[test]
fn every_order_to_interrupt_is_settled() {
    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, Instant::now());
    interrupted(&mut turns, Instant::now());
    let cancelled = ended(1, TurnOutcome::Cancelled);
    assert_eq!(turns.ended(TurnOutcome::Cancelled), [TurnEffect::Close, did(Ok(())), did(Ok(())), cancelled]);
}

#[test]
fn own_work_can_be_interrupted() {
    let at = Instant::now();
    let mut turns = TurnMachine::new("Agent", true);
    turns.own_work();
    assert_eq!(turns.interrupt(at), [TurnEffect::Interrupt(None)]);
    turns.interrupt_queued();
    turns.interrupt_written(None);
    turns.interrupt_answered(None, Ok(()));
    let rested = TurnEffect::Report(Report::SelfEnded(TurnOutcome::Cancelled));
    assert_eq!(turns.overdue(at + INTERRUPT_GRACE)[1..], [TurnEffect::Close, did(Ok(())), rested]);
}

#[test]
fn a_prompt_that_was_handed_over_is_cut_off_by_a_loss_and_the_others_come_back() {
    for phase in [PromptPhase::Written, PromptPhase::Submitted, PromptPhase::Begun] {
        let mut turns = in_phase(phase);
        turns.prompt(prompt(2));
        let (effects, unsent) = turns.agent_exited("it exited");
        let cut_off = TurnOutcome::Failed("cut_off: it exited".to_owned());
        assert_eq!((effects, unsent), (vec![TurnEffect::Close, ended(1, cut_off)], vec![prompt(2)]), "{phase:?}");
        assert!(!turns.is_busy());
    }
    let mut turns = in_phase(PromptPhase::Queued);
    turns.prompt(prompt(2));
    assert_eq!(turns.agent_exited("it exited"), (vec![], vec![prompt(1), prompt(2)]), "in their order");
}

#[test]
fn a_prompt_that_was_interrupted_is_not_handed_over_to_the_next_process() {
    let mut turns = in_phase(PromptPhase::Queued);
    interrupted(&mut turns, Instant::now());
    let cancelled = vec![TurnEffect::Close, did(Ok(())), ended(1, TurnOutcome::Cancelled)];
    assert_eq!(turns.agent_exited("it exited"), (cancelled, vec![]));
    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, Instant::now());
    let cut_off = TurnOutcome::Failed("cut_off: it exited".to_owned());
    let effects = vec![TurnEffect::Close, did(Err("it exited")), ended(1, cut_off)];
    assert_eq!(turns.agent_exited("it exited"), (effects, vec![]));
}

#[test]
fn a_conversation_that_is_left_fails_all_its_prompts() {
    let mut turns = in_phase(PromptPhase::Begun);
    turns.prompt(prompt(2));
    let failed = || TurnOutcome::Failed("left".to_owned());
    assert_eq!(turns.abandon("left"), [TurnEffect::Close, ended(1, failed()), ended(2, failed())]);
    assert!(!turns.is_busy());
}

#[test]
fn the_late_end_of_a_turn_that_was_given_up_does_not_end_the_next_one() {
    let at = Instant::now();
    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, at);
    turns.prompt(prompt(2));
    let effects = turns.overdue(at + INTERRUPT_GRACE);
    assert_eq!(effects.last(), Some(&TurnEffect::Prompt(prompt(2))));
    assert_eq!(turns.ended(TurnOutcome::Completed), [], "it is not written yet");
    assert_eq!(turns.written(&turn(2)), [delivered(2)]);
    let unwritable = turns.unwritable("too long");
    assert_eq!(unwritable, [TurnEffect::Close, ended(2, TurnOutcome::Failed("too long".to_owned()))]);
}

#[test]
fn a_prompt_that_cannot_be_written_ends_after_a_turn_that_was_given_up() {
    let at = Instant::now();
    let mut turns = in_phase(PromptPhase::Begun);
    interrupted(&mut turns, at);
    turns.prompt(prompt(2));
    turns.overdue(at + INTERRUPT_GRACE);
    let failed = TurnOutcome::Failed("too long".to_owned());
    assert_eq!(turns.unwritable("too long"), [TurnEffect::Close, ended(2, failed)]);
}
