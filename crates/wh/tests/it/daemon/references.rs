//! Content references that point to other files: each attempt is refused with its own message, no other file is read,
//! and the corrected message works with the same request id.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::stat::{Mode, SFlag, mknod};
use nix::unistd::mkfifo;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use wh_testkit::{eventually, tools};

use super::{Session, TestDaemon, message, moment, with};

/// Contents of the valid file.
const TEXT: &str = "a text that was too long to be sent";

/// Contents of a file outside of the directory, which must not be read.
const SECRET: &str = "a secret of the same length as it....";

struct Desk {
    daemon: TestDaemon,
    session: Session,
    folder: PathBuf,
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reference(path: &Path, text: &str) -> Value {
    json!({ "path": path, "size_bytes": text.len(), "sha256": hex(text.as_bytes()), "mime": "text/plain; charset=utf-8" })
}

impl Desk {
    fn new() -> Self {
        let daemon = TestDaemon::new();
        let session = daemon.demo("a", 0);
        let folder = daemon.contents().join("default/input");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("right.txt"), TEXT).unwrap();
        fs::write(daemon.root().join("secret.txt"), SECRET).unwrap();
        Self { daemon, session, folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn message(&self, id: &str, reference: Value) -> Value {
        let fields = json!({ "type": "control.stdin.request", "content_ref": reference });
        with(message(&self.session, id), fields)
    }

    /// Checks that the reference is refused with this code and message, and that the valid one then works with the same
    /// request id.
    #[track_caller]
    fn refused(&self, id: &str, reference: Value, error: &str, words: &str) -> String {
        let ack = self.daemon.control(&self.message(id, reference));
        let detail = ack["detail"].as_str().unwrap_or_default().to_owned();
        assert_eq!((&ack["result"], &ack["error"]), (&json!("rejected"), &json!(error)), "{id}: {ack}");
        assert_eq!(ack["duplicate"], false, "{id}");
        assert!(detail.contains(words), "{id}: {detail}");
        assert!(!detail.contains(SECRET), "{detail}");
        eventually("it is written down", || {
            self.daemon.audit(id).iter().any(|one| one["error"] == error).then_some(())
        });
        let ack = self.daemon.control(&self.message(id, self.right()));
        assert_eq!((&ack["result"], &ack["duplicate"]), (&json!("ok"), &json!(false)), "{id}: {ack}");
        self.daemon.receipt(&self.session, id);
        detail
    }

    fn right(&self) -> Value {
        reference(&self.at("right.txt"), TEXT)
    }
}

#[test]
fn every_attack_is_refused_with_its_own_message() {
    let desk = Desk::new();
    let secret = desk.daemon.root().join("secret.txt");
    let mut words = Vec::new();
    let mut refused = |id: &str, reference: Value, error: &str, wanted: &str| {
        words.push(desk.refused(id, reference, error, wanted));
    };

    let upwards = desk.at("../../../../../secret.txt");
    refused("upwards", reference(&upwards, SECRET), "ref_outside", "\"..\"");
    refused("outside", reference(&secret, SECRET), "ref_outside", "must be a file under");
    refused("relative", reference(Path::new("right.txt"), TEXT), "ref_outside", "absolute");
    symlink(&secret, desk.at("link.txt")).unwrap();
    refused("link", reference(&desk.at("link.txt"), SECRET), "ref_outside", "symbolic link");
    symlink(desk.daemon.root(), desk.at("folder")).unwrap();
    refused(
        "folder-link",
        reference(&desk.at("folder/secret.txt"), SECRET),
        "ref_outside",
        "\"folder\" is a symbolic link",
    );
    fs::hard_link(&secret, desk.at("hard.txt")).unwrap();
    refused("hard-link", reference(&desk.at("hard.txt"), SECRET), "ref_outside", "more than one hard link");
    for (id, mime) in [("octets", "application/octet-stream"), ("latin", "text/plain; charset=iso-8859-1")] {
        refused(id, with(desk.right(), json!({ "mime": mime })), "ref_mime", mime);
    }
    // The directory of another team.
    let other = desk.daemon.contents().join("others/input");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("right.txt"), TEXT).unwrap();
    desk.refused("other-team", reference(&other.join("right.txt"), TEXT), "ref_outside", "must be a file under");

    refused("missing", reference(&desk.at("missing.txt"), TEXT), "ref_missing", "no such file");
    refused("size", with(desk.right(), json!({ "size_bytes": 5 })), "ref_size", "size_bytes is 5");
    refused("hash", with(desk.right(), json!({ "sha256": hex(b"another") })), "ref_digest", "SHA-256");
    refused("no-hash", with(desk.right(), json!({ "sha256": "e3b0c442..." })), "invalid_field", "64 hexadecimal");
    refused("expired", with(desk.right(), json!({ "expires_at": moment(-1) })), "ref_expired", "expired at");
    refused("no-time", with(desk.right(), json!({ "expires_at": "soon" })), "ref_expired", "RFC 3339");
    refused("not-yet-nothing", with(desk.right(), json!({ "size_bytes": 0 })), "empty", "empty");

    mkfifo(&desk.at("pipe"), Mode::S_IRWXU).unwrap();
    refused("pipe", reference(&desk.at("pipe"), TEXT), "ref_unreadable", "a pipe");
    refused("directory", reference(&desk.folder.join("."), TEXT), "ref_unreadable", "a folder");
    let sparse = fs::File::create(desk.at("sparse")).unwrap();
    sparse.set_len(10 << 30).unwrap();
    let ten = with(reference(&desk.at("sparse"), ""), json!({ "size_bytes": 10_u64 << 30 }));
    refused("sparse", ten, "too_long", "at most");
    let lies = with(reference(&desk.at("sparse"), ""), json!({ "size_bytes": 100 }));
    refused("sparse-lies", lies, "ref_size", "size_bytes is 100");
    fs::write(desk.at("binary"), b"\xff\xfe not a text").unwrap();
    let binary = fs::read(desk.at("binary")).unwrap();
    let binary =
        json!({ "path": desk.at("binary"), "size_bytes": binary.len(), "sha256": hex(&binary), "mime": "text/plain" });
    refused("binary", binary, "ref_not_utf8", "not valid UTF-8");
    fs::write(desk.at("blank.txt"), " \n").unwrap();
    refused("blank", reference(&desk.at("blank.txt"), " \n"), "empty", "blank");
    if nix::unistd::geteuid().is_root() {
        mknod(&desk.at("zero"), SFlag::S_IFCHR, Mode::S_IRWXU, nix::sys::stat::makedev(1, 5)).unwrap();
        refused("device", reference(&desk.at("zero"), TEXT), "ref_unreadable", "a device");
        fs::write(desk.at("foreign.txt"), TEXT).unwrap();
        std::os::unix::fs::chown(desk.at("foreign.txt"), Some(65534), Some(65534)).unwrap();
        refused("foreign", reference(&desk.at("foreign.txt"), TEXT), "ref_unreadable", "another user");
    } else {
        tools::skip("devices and the files of others can be made by root only", true);
    }

    let count = words.len();
    words.sort();
    words.dedup();
    assert_eq!(words.len(), count, "each has words of its own: {words:#?}");
    let said: Vec<String> = desk
        .daemon
        .chats(&desk.session)
        .into_iter()
        .filter(|(from, _)| from == "local")
        .map(|(_, text)| text)
        .collect();
    assert_eq!(said, vec![TEXT.to_owned(); count + 1], "only the right text was ever read");
}

/// Swaps two file names repeatedly until `stop` is set.
fn swap_until(stop: &AtomicBool, one: &Path, other: &Path) {
    let name = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    let (one, other) = (name(one), name(other));
    let here = nix::libc::AT_FDCWD;
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: both names are strings that end in a zero byte and live through the call.
        let done =
            unsafe { nix::libc::renameat2(here, one.as_ptr(), here, other.as_ptr(), nix::libc::RENAME_EXCHANGE) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
}

#[test]
fn a_link_swapped_between_check_and_use_reveals_no_other_file() {
    let desk = Desk::new();
    let secret = desk.daemon.root().join("secret.txt");
    assert_eq!(TEXT.len() + 2, SECRET.len(), "told apart by more than the length");
    let (file, link) = (desk.at("swapped.txt"), desk.at("link.txt"));
    fs::write(&file, TEXT).unwrap();
    symlink(&secret, &link).unwrap();
    let stop = AtomicBool::new(false);
    let (mut taken, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| swap_until(&stop, &file, &link));
        // Digest and size match the secret, so following the link would succeed.
        for number in 0..400 {
            let wanted = if number % 2 == 0 { reference(&file, SECRET) } else { reference(&file, TEXT) };
            let ack = desk.daemon.control(&desk.message(&format!("swap-{number}"), wanted));
            match ack["result"].as_str() {
                Some("ok") => {
                    assert_eq!(number % 2, 1, "the secret was taken: {ack}");
                    desk.daemon.receipt(&desk.session, &format!("swap-{number}"));
                    taken += 1;
                }
                Some("rejected") => refused += 1,
                _ => panic!("{ack}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(refused >= 200 && taken > 0, "both were met: {taken} taken, {refused} refused");
    assert!(!json!(desk.daemon.chats(&desk.session)).to_string().contains("a secret"), "nothing of it was read");
}

#[test]
fn the_sender_writes_long_texts_to_a_file() {
    let daemon = TestDaemon::new();
    let session = daemon.demo("a", 0);
    let text = "y".repeat((1 << 20) + 17);
    let mut child = daemon.wh(&["control", "send", "a", "-", "--json", "--request-id", "big"]);
    let mut child = child.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let ack: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(ack["result"], "ok", "{ack}");
    daemon.receipt(&session, "big");
    let chats = daemon.chats(&session);
    let (_, said) = chats.iter().find(|(from, _)| from == "local").unwrap();
    assert!(said.ends_with(&format!("({} bytes in all)", text.len())), "{}", said.len());
    let record = eventually("it is written down", || daemon.audit("big").first().cloned());
    assert_eq!(record["content_bytes"], json!(text.len()), "{record}");
}
