//! Memory and CPU time of processes, from `/proc`.

use std::fs;

use crate::BenchResult;

/// Returns the resident memory of these processes in bytes.
pub fn resident(pids: &[i32]) -> BenchResult<f64> {
    let mut bytes = 0.0;
    for pid in pids {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .ok_or_else(|| format!("/proc/{pid}/status contains no VmRSS; the process may have exited"))?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        bytes += kibibytes * 1024.0;
    }
    Ok(bytes)
}

/// Returns the proportional set size of these processes in bytes, which counts shared memory once.
pub fn proportional(pids: &[i32]) -> BenchResult<f64> {
    let mut bytes = 0.0;
    for pid in pids {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let line = rollup
            .lines()
            .find_map(|line| line.strip_prefix("Pss:"))
            .ok_or_else(|| format!("/proc/{pid}/smaps_rollup contains no Pss; the process may have exited"))?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        bytes += kibibytes * 1024.0;
    }
    Ok(bytes)
}

/// Returns the total CPU time of all threads of these processes in seconds.
pub fn cpu_seconds(pids: &[i32]) -> BenchResult<f64> {
    let mut nanoseconds = 0.0;
    for pid in pids {
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // schedstat counts nanoseconds, /proc/PID/stat only hundredths of a second. A thread may have exited since
            // the directory was listed.
            let Ok(statistics) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let ran: f64 = statistics.split(' ').next().unwrap_or_default().parse()?;
            nanoseconds += ran;
        }
    }
    Ok(nanoseconds / 1e9)
}

/// Returns the pids of the direct children of a process.
pub fn children(pid: i32) -> BenchResult<Vec<i32>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(task?.path().join("children"))?;
        for child in list.split_whitespace() {
            found.push(child.parse()?);
        }
    }
    Ok(found)
}
