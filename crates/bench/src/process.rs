//! What a process takes of the machine, as the kernel counts it.

use std::fs;

use crate::Outcome;

/// Resident bytes of these processes together.
pub fn resident(pids: &[i32]) -> Outcome<f64> {
    let mut bytes = 0.0;
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("a process without memory")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        bytes += kibibytes * 1024.0;
    }
    Ok(bytes)
}

/// Bytes of these processes together, where what several share is counted once.
pub fn proportional(pids: &[i32]) -> Outcome<f64> {
    let mut bytes = 0.0;
    for pid in pids {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("a process without memory")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        bytes += kibibytes * 1024.0;
    }
    Ok(bytes)
}

/// Seconds that these processes have had a processor, all threads together.
pub fn cpu_seconds(pids: &[i32]) -> Outcome<f64> {
    let mut nanoseconds = 0.0;
    for pid in pids {
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // In nanoseconds, where /proc/PID/stat counts hundredths of a second. A thread may just have ended.
            let Ok(statistics) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let ran: f64 = statistics.split(' ').next().unwrap_or_default().parse()?;
            nanoseconds += ran;
        }
    }
    Ok(nanoseconds / 1e9)
}

/// The processes that this one has started.
pub fn children(pid: i32) -> Outcome<Vec<i32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(task?.path().join("children"))?;
        for child in list.split_whitespace() {
            found.push(child.parse()?);
        }
    }
    Ok(found)
}
