//! Runs the tests of both specifications on sessions of a daemon.

use std::process::Command;

use wh_testkit::wh::IN_DAEMON_VARIABLE;

/// Modules of tests for single runs that also apply to daemon sessions.
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

/// Excluded tests: about a run itself (its exit, flags or listing), or with a client that sends no token.
const SKIPPED: [&str; 9] = [
    "spec::a_background_run_is_ready_when_health_answers_and_ends_on_a_signal",
    "control::a_live_run_is_listed",
    "control::the_api_lingers_with_the_last_screen",
    "control::the_program_gets_its_environment_and_directory",
    "space::posting::default_targets_prefer_flags_to_variables_and_must_be_participants",
    "waits::the_wait_of_a_killed_client_is_removed",
    "waits::waits_beyond_the_limit_are_refused",
    "waits::open_waits_are_answered_at_program_exit_before_wh_exits",
    "daemon::",
];

/// Minimum number of tests, so that a filter without matches is noticed.
const LEAST: usize = 60;

#[test]
fn the_tests_of_both_specs_pass_on_sessions_of_a_daemon() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(FILTERS).env(IN_DAEMON_VARIABLE, "1");
    for name in SKIPPED {
        command.args(["--skip", name]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = said.split("test result: ok. ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(passed.is_some_and(|passed: usize| passed >= LEAST), "{said}");
}
