//! Notifications about changed files and directories, by inotify. Report only that something has changed; the caller
//! then looks at the files.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use tokio::net::unix::pipe;

/// Interval at which files are checked while the system cannot watch them, for example because the user's limit of
/// watches is reached.
const UNWATCHED_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Size of the buffer into which notifications are read. Must hold the longest notification.
const NOTIFICATION_BUFFER_BYTES: usize = 4096;

/// Changes of a directory that may create, replace or remove a file in it.
const DIRECTORY_CHANGES: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF)
    .union(AddWatchFlags::IN_ONLYDIR);

/// Queue of notifications about watched files and directories.
#[derive(Debug)]
struct ChangeQueue {
    inotify: Inotify,
    /// Duplicate of the inotify descriptor, for waiting. Registered as a pipe, because a pipe's receiver waits for any
    /// descriptor and reads from it.
    receiver: pipe::Receiver,
    /// Error of the last attempt to watch, if it failed.
    failure: Option<Errno>,
}

impl ChangeQueue {
    fn new() -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let duplicate = File::from(inotify.as_fd().try_clone_to_owned()?);
        Ok(Self { inotify, receiver: pipe::Receiver::from_file_unchecked(duplicate)?, failure: None })
    }

    /// Watches a path; `None` if it does not exist.
    fn add(&self, path: &Path, changes: AddWatchFlags) -> Result<Option<WatchDescriptor>, Errno> {
        match self.inotify.add_watch(path, changes) {
            Ok(watch) => Ok(Some(watch)),
            Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Watches the nearest existing directory that contains the path.
    fn add_directory_of(&self, path: &Path, changes: AddWatchFlags) -> Result<Option<WatchDescriptor>, Errno> {
        for directory in path.ancestors().skip(1) {
            let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            if let Some(watch) = self.add(directory, changes)? {
                return Ok(Some(watch));
            }
        }
        Err(Errno::ENOENT)
    }

    /// Replaces a watch. Watching the same file or directory again returns the same descriptor.
    fn replace(&self, place: &mut Option<WatchDescriptor>, new: Option<WatchDescriptor>) {
        let old = std::mem::replace(place, new);
        if let Some(old) = old.filter(|old| Some(*old) != new) {
            // The watch no longer exists if the file was deleted.
            let _ = self.inotify.rm_watch(old);
        }
    }

    /// Records the result of an attempt to watch.
    fn note(&mut self, result: Result<(), Errno>, path: &Path) {
        if let Err(error) = result
            && self.failure != Some(error)
        {
            tracing::warn!(path = %path.display(), %error, "cannot watch a transcript; checking it every second");
        }
        self.failure = result.err();
    }

    /// Waits for a notification, and removes all notifications from the queue. Cancel safe.
    async fn changed(&self) -> io::Result<()> {
        if self.failure.is_some() {
            tokio::time::sleep(UNWATCHED_CHECK_INTERVAL).await;
            return Ok(());
        }
        self.receiver.readable().await?;
        let mut notifications = [0; NOTIFICATION_BUFFER_BYTES];
        loop {
            // All notifications are read: the system drops a new notification that is equal to the last unread one.
            match self.receiver.try_read(&mut notifications) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Watch on one file, including a file that does not exist yet.
#[derive(Debug)]
pub(super) struct PathWatch {
    path: PathBuf,
    queue: ChangeQueue,
    file: Option<WatchDescriptor>,
    directory: Option<WatchDescriptor>,
}

impl PathWatch {
    /// Creates a watch that is not armed. Must be called within a tokio runtime.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), queue: ChangeQueue::new()?, file: None, directory: None })
    }

    /// Watches what exists at the path now. The caller must call this before it looks at the file, so that no change
    /// goes unnoticed.
    pub fn arm(&mut self) {
        let result = self.try_arm();
        self.queue.note(result, &self.path);
    }

    fn try_arm(&mut self) -> Result<(), Errno> {
        // A deletion of an open file changes its attributes; IN_DELETE_SELF follows only when the file is closed.
        let changes = AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_ATTRIB | AddWatchFlags::IN_MOVE_SELF;
        let file = self.queue.add(&self.path, changes)?;
        self.queue.replace(&mut self.file, file);
        let directory = self.queue.add_directory_of(&self.path, DIRECTORY_CHANGES)?;
        self.queue.replace(&mut self.directory, directory);
        Ok(())
    }

    /// Waits until something has changed since [`Self::arm`]. May return without a change. Cancel safe.
    pub async fn changed(&self) -> io::Result<()> {
        self.queue.changed().await
    }
}

/// Watch for new and changed files in directories that need not exist yet.
#[derive(Debug)]
pub struct TranscriptWatch {
    directories: Vec<PathBuf>,
    queue: ChangeQueue,
    watches: Vec<WatchDescriptor>,
}

impl TranscriptWatch {
    /// Creates a watch that is not armed. Must be called within a tokio runtime.
    pub(super) fn new(directories: Vec<PathBuf>) -> io::Result<Self> {
        let mut watch = Self { directories, queue: ChangeQueue::new()?, watches: Vec::new() };
        watch.arm(None);
        Ok(watch)
    }

    /// Watches the directories that exist now, or the nearest directories above them. `directories` replaces the
    /// watched directories. The caller must call this before it looks for files.
    pub(super) fn arm(&mut self, directories: Option<Vec<PathBuf>>) {
        self.directories = directories.unwrap_or_else(|| std::mem::take(&mut self.directories));
        // The first line of a new file follows its creation.
        let changes = DIRECTORY_CHANGES | AddWatchFlags::IN_MODIFY;
        let directories = self.directories.iter().map(|directory| directory.join("_"));
        let armed: Result<Vec<_>, Errno> =
            directories.map(|inside| self.queue.add_directory_of(&inside, changes)).collect();
        let result = armed.map(|armed| {
            let armed: Vec<WatchDescriptor> = armed.into_iter().flatten().collect();
            for old in self.watches.iter().filter(|old| !armed.contains(old)) {
                // The watch no longer exists if the directory was deleted.
                let _ = self.queue.inotify.rm_watch(*old);
            }
            self.watches = armed;
        });
        let path = self.directories.first().cloned().unwrap_or_default();
        self.queue.note(result, &path);
    }

    /// Waits until a file in a watched directory was created or changed. May return without a change. Cancel safe.
    pub async fn changed(&self) -> io::Result<()> {
        self.queue.changed().await
    }
}
