//! Who descends from whom.

use std::collections::HashMap;
use std::fs;

use nix::unistd::Pid;

/// Every process below `root`, parents before children. Processes whose parent died hang below the nearest subreaper,
/// so nothing that a guard's program started is missing.
pub(super) fn below(root: Pid) -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let parent = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent(&stat));
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root.as_raw()];
    let mut at = 0;
    while let Some(process) = found.get(at) {
        if let Some(more) = children.remove(process) {
            found.extend(more);
        }
        at += 1;
    }
    found.into_iter().skip(1).map(Pid::from_raw).collect()
}

/// The parent's id in a line of `/proc/PID/stat`. The name before it may hold anything, also brackets.
fn parent(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_hide_the_parent() {
        assert_eq!(parent("42 (a) S 1 (b)) S 7 42 42 0"), Some(7));
        assert_eq!(parent("garbage"), None);
    }

    #[test]
    fn a_child_is_found_below_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        assert!(below(nix::unistd::getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
