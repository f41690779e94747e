//! Screenshots: taking them and comparing them with earlier ones.

use std::process::Command;

use wh_testkit::wh::Wh;

use crate::WH;

#[test]
fn the_screen_is_compared_with_an_earlier_screenshot() {
    let directory = tempfile::tempdir().unwrap();
    let program = r"stty -echo; printf 'one cell'; read x; printf '\0337\033[1;1H0\0338'; exec cat";
    let wh = Wh::options(WH).flags(&["--size", "40x10"]).start(&["--", "sh", "-c", program]);
    wh.wait(r#"screen_contains "one cell""#);
    let shot = |arguments: &[&str]| {
        let mut command = Command::new(WH);
        command.arg("shot").args(arguments).args(["--port", &wh.port().to_string()]).current_dir(directory.path());
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(shot(&["golden.png"]).0, 0);
    assert_eq!(shot(&["golden.svg"]).0, 0);
    assert_eq!(shot(&["--compare", "golden.png"]).0, 0);
    assert_eq!(shot(&["--compare", "golden.png", "--background", "light", "--diff", "light.png"]).0, 1);
    assert_eq!(shot(&["light.svg", "--background", "light"]).0, 0);
    wh.key("enter");
    wh.wait(r#"screen_contains "0ne cell""#);
    let (code, said) = shot(&["--compare", "golden.png"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("screen differs from") && directory.path().join("golden.diff.png").exists(), "{said}");
    assert_eq!(shot(&["--compare", "golden.png", "--threshold", "0.5"]).0, 0);
    assert_eq!(shot(&["golden.txt"]).0, 2);
    assert_eq!(shot(&["--compare", "nowhere.png"]).0, 125);
    let marked = Command::new(WH).args(["mark", "here", "--port", &wh.port().to_string()]).status().unwrap();
    assert!(marked.success());
}
