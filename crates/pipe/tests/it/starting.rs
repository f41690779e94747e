//! Starting programs, and the errors when that fails.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use wh_pipe::{Exit, LaunchError, LaunchSpec};

use crate::{TEST_TIMEOUT, line, output, script, supervised};

#[tokio::test]
async fn a_program_gets_its_arguments_directory_and_environment() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    for launch in [script as fn(&str) -> LaunchSpec, supervised] {
        let mut launch = launch("printf '%s\\n' \"$PWD\" \"$1\" \"$NEW\" \"${HOME-none}\"; env | grep -c WH_ || true");
        launch.arguments.extend(["sh".into(), "two words".into()]);
        launch.directory = Some(folder.clone());
        launch.environment =
            BTreeMap::from([("NEW".into(), Some("value".into())), ("HOME".into(), None), ("PWD".into(), None)]);
        let mut child = launch.start().await.unwrap();
        let mut lines = output(&mut child);
        assert_eq!(line(&mut lines).await.unwrap(), folder.to_str().unwrap());
        for expected in ["two words", "value", "none", "0"] {
            assert_eq!(line(&mut lines).await.unwrap(), expected);
        }
        assert_eq!(line(&mut lines).await, None);
        assert_eq!(child.end(TEST_TIMEOUT).await, Exit::Code(0));
    }
}

#[tokio::test]
async fn a_missing_program_is_named_in_the_error() {
    for supervisor in [None, Some(vec![env!("CARGO_BIN_EXE_wh-keep").into()])] {
        let mut launch = LaunchSpec { supervisor, ..LaunchSpec::new("no-such-program") };
        let error = launch.start().await.unwrap_err();
        assert!(matches!(&error, LaunchError::NotFound(name) if name == "no-such-program"), "{error:?}");
        assert_eq!(error.to_string(), "program \"no-such-program\" not found in PATH");
        launch.program = "/no/such/program".into();
        assert_eq!(launch.start().await.unwrap_err().to_string(), "program \"/no/such/program\" not found");
        launch.program = "sh".into();
        launch.environment.insert("PATH".into(), Some("/nowhere".into()));
        assert!(matches!(launch.start().await.unwrap_err(), LaunchError::NotFound(_)), "the program's path counts");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_not_reported_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, odd) = (folder.path().join("plain"), folder.path().join("odd"));
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::write(&odd, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&odd, Permissions::from_mode(0o755)).unwrap();
    for supervisor in [None, Some(vec![env!("CARGO_BIN_EXE_wh-keep").into()])] {
        for file in [&plain, &odd] {
            let launch = LaunchSpec { supervisor: supervisor.clone(), ..LaunchSpec::new(file) };
            let error = launch.start().await.unwrap_err();
            assert!(matches!(&error, LaunchError::NotExecutable { path, .. } if path == file), "{error:?}");
        }
        let error =
            LaunchSpec { directory: Some(plain.clone()), supervisor, ..script("true") }.start().await.unwrap_err();
        assert!(matches!(&error, LaunchError::Directory { path, .. } if *path == plain), "{error:?}");
    }
}

#[tokio::test]
async fn a_relative_path_is_resolved_from_the_working_directory_of_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    fs::write(&tool, "#!/bin/sh\nexit 7\n").unwrap();
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    let launch = LaunchSpec { directory: Some(folder.path().to_owned()), ..LaunchSpec::new("./tool") };
    assert_eq!(launch.start().await.unwrap().end(TEST_TIMEOUT).await, Exit::Code(7));
}

#[tokio::test]
async fn a_supervisor_that_fails_is_named_in_the_error() {
    for command in [vec![], vec!["/no/such/supervisor".into()], vec!["true".into()]] {
        let error = LaunchSpec { supervisor: Some(command.clone()), ..script("true") }.start().await.unwrap_err();
        assert!(matches!(error, LaunchError::Supervisor { .. }), "{command:?}: {error:?}");
    }
}

#[test]
fn secrets_in_the_environment_are_not_shown() {
    let mut launch = script("true");
    launch.environment.insert("API_KEY".into(), Some("hunter2".into()));
    let shown = format!("{launch:?}");
    assert!(shown.contains("API_KEY") && !shown.contains("hunter2"), "{shown}");
}
