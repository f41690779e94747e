//! A control message is carried out once, whatever happens to the daemon meanwhile. The full trial is `wh-bench once`.

use std::path::Path;

use wh_testkit::once::Plan;
use wh_testkit::tools;

use crate::WH;

#[test]
fn no_request_is_delivered_twice_or_lost_while_the_daemon_is_killed() {
    if !tools::present(&["python3"]) {
        return;
    }
    let plan = Plan { wh: Path::new(WH).to_owned(), requests: 300, clients: 4, sessions: 6, kills: 3, seed: 7 };
    let account = plan.run(|_| {});
    assert!(account.faults.is_empty(), "{account}\n{}", account.faults.join("\n"));
    // A trial in which nothing arrives would prove nothing.
    assert!(account.arrived >= 250 && account.nothing.is_empty(), "{account}");
    assert_eq!((account.requests, account.repeated), (300, 30), "{account}");
}
