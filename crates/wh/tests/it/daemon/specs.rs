//! The tests of the control plane and of the small remote control, on sessions of a daemon.

use std::process::Command;

use wh_testkit::wh::IN_DAEMON;

/// Tests of single runs that say the same of a session of a daemon.
const FILTERS: [&str; 11] = [
    "spec::",
    "control::",
    "input::",
    "waits::",
    "snapshot::",
    "space::moments::",
    "space::polling::",
    "space::posting::",
    "space::questions::",
    "space::remote::",
    "space::same::",
];

/// Of these, the ones about a run itself (its end, its flags, its entry among the runs), or with a client of their own that
/// knows no token.
const SKIPPED: [&str; 9] = [
    "spec::a_background_start_is_ready_when_health_answers_and_ends_by_a_signal",
    "control::a_run_can_be_found_while_it_lives",
    "control::the_door_lingers_with_the_last_screen",
    "control::the_environment_and_the_directory_are_the_programs",
    "space::posting::default_targets_come_from_flags_before_variables_and_name_those_who_are_there",
    "waits::a_client_that_is_killed_while_it_waits_leaves_nothing_behind",
    "waits::more_waits_than_can_be_open_are_refused",
    "waits::the_end_of_the_program_answers_open_waits_before_wh_goes",
    "daemon::",
];

/// Fewer than there are, so that a filter that matches nothing is noticed.
const LEAST: usize = 60;

#[test]
fn the_tests_of_both_specs_pass_on_sessions_of_a_daemon() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(FILTERS).env(IN_DAEMON, "1");
    for name in SKIPPED {
        command.args(["--skip", name]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = said.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(passed.is_some_and(|passed: usize| passed >= LEAST), "{said}");
}
