//! The TypeScript client: its types match the OpenAPI description, and its own tests pass against this wh.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use wh_testkit::process;
use wh_testkit::tools::present;
use wh_testkit::wh::Wh;

use crate::WH;

/// Time for one step. npm may have to download the compiler.
const STEP_TIMEOUT: Duration = Duration::from_secs(300);

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/typescript")
}

/// Runs a command and returns its output. Panics with the output if it fails or times out.
#[track_caller]
fn run(command: &mut Command) -> String {
    let said = tempfile::NamedTempFile::new().expect("a file");
    let output = || said.as_file().try_clone().map(Stdio::from).expect("the file once more");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output())
        .stderr(output())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let status = process::wait(&mut child, STEP_TIMEOUT);
    if status.is_none() {
        let _ = process::terminate(&mut child, Duration::ZERO);
    }
    let said = fs::read_to_string(said.path()).expect("what was said is text");
    match status {
        Some(status) if status.success() => said,
        Some(status) => panic!("{command:?} gave {status}:\n{said}"),
        None => panic!("{command:?} had not ended after {STEP_TIMEOUT:?}:\n{said}"),
    }
}

/// Copies the package without build artefacts.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "node_modules" || name == "dist" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a copy");
        }
    }
}

#[test]
fn the_types_of_the_client_match_the_served_description() {
    if !present(&["node"]) {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let (description, types) = (directory.path().join("openapi.json"), directory.path().join("types.ts"));
    let wh = Wh::start(WH, &["--", "cat"]);
    fs::write(&description, wh.get("/openapi.json").body).expect("a file");
    run(Command::new("node").arg(package().join("scripts/generate.mjs")).args([&description, &types]));
    let (served, kept) =
        (fs::read_to_string(&types).unwrap(), fs::read_to_string(package().join("src/types.ts")).unwrap());
    let differs = served.lines().zip(kept.lines()).position(|(served, kept)| served != kept);
    assert!(
        served == kept,
        "clients/typescript/src/types.ts is not what wh serves, from line {}: run `wh run --headless --control-port 9090 -- cat`, \
         `curl -s localhost:9090/openapi.json > openapi.json` and, in clients/typescript, `npm run generate -- openapi.json` to update",
        differs.map_or(served.lines().count().min(kept.lines().count()), |line| line) + 1
    );
}

#[test]
fn the_client_passes_its_own_tests() {
    if !present(&["node", "npm", "bash"]) {
        return;
    }
    let directory = TempDir::new().expect("a directory");
    let (copied, runtime) = (directory.path().join("package"), directory.path().join("runtime"));
    copy(&package(), &copied);
    fs::create_dir(&runtime).expect("a directory");
    let npm = |arguments: &[&str]| {
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(&copied).env("WH_BIN", WH).env("XDG_RUNTIME_DIR", &runtime);
        run(&mut npm)
    };
    npm(&["ci", "--prefer-offline", "--no-audit", "--no-fund"]);
    npm(&["run", "build"]);
    let said = npm(&["test"]);
    for skipped in said.lines().filter(|line| line.contains("SKIPPED")) {
        // The test harness captures eprintln.
        let _ = writeln!(std::io::stderr(), "{skipped}");
    }
}
