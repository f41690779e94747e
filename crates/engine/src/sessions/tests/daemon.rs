//! Test daemon: a state directory and successive runs of a daemon on it.

use super::*;

pub(super) const SIZE: Size = Size { columns: 80, rows: 24 };

/// State directory shared by successive daemons.
pub(super) struct DaemonHome {
    pub(super) folder: TempDir,
}

/// A run of a daemon.
pub(super) struct DaemonRun {
    pub(super) sessions: Arc<Sessions>,
    pub(super) store: Store,
    pub(super) restored: RestoreCounts,
}

impl DaemonHome {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn state(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a daemon until `live` returns, and then kills it: every task is dropped where it is.
    pub(super) fn live<T>(&self, live: impl AsyncFnOnce(&DaemonRun) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let store = Store::open(self.state().join("store")).unwrap();
        let kept = store.clone();
        let result = runtime.block_on(async {
            let sessions = Sessions::new(services(store.clone()));
            let restored = sessions.finish_restore(sessions.begin_restore().await.unwrap()).await;
            live(&DaemonRun { sessions, store, restored }).await
        });
        runtime.shutdown_timeout(Duration::from_secs(30));
        let closing = tokio::runtime::Builder::new_current_thread().build().unwrap();
        closing.block_on(kept.close()).unwrap();
        result
    }

    pub(super) fn wanted(&self, agent: &str, name: &str) -> CreateSessionRequest {
        let what = Workload::Agent {
            agent: agent.to_owned(),
            model: None,
            mode: None,
            may_skip_permissions: false,
            arguments: vec![],
        };
        let environment = vec![
            ("XDG_STATE_HOME".into(), self.state().as_os_str().to_owned()),
            ("SECRET_KEY".into(), "do-not-write-me".into()),
        ];
        CreateSessionRequest {
            workload: what,
            name: Some(name.to_owned()),
            team: None,
            directory: self.state().to_owned(),
            size: SIZE,
            environment: Some(environment),
            idempotency_key: None,
            creators: Vec::new(),
            person: false,
        }
    }
}

pub(super) fn services(store: Store) -> SessionServices {
    let demo = Demo::new(DemoOptions { pace: Duration::ZERO, ..DemoOptions::default() });
    SessionServices {
        catalog: {
            let (demo, mute): (Arc<dyn Agent>, Arc<dyn Agent>) = (Arc::new(demo), Arc::new(Mute));
            Box::new(move |_| Ok(Catalog::of(vec![Arc::clone(&demo), Arc::clone(&mute)])))
        },
        unused_ui_after: Duration::from_secs(600),
        show: Box::new(|spec| {
            tokio::spawn(async move {
                let _held = spec;
                std::future::pending().await
            })
        }),
        screen: ScreenSpec { history_lines: 100, log_characters: 4000 },
        withheld: vec![],
        store: Some(store),
        is_team: Box::new(|team| ["default", "crew"].contains(&team)),
    }
}

/// Waits for something that is only visible in the store.
pub(super) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

impl DaemonRun {
    pub(super) fn session(&self, id: &str) -> Arc<SessionHandle> {
        self.sessions.session(id).expect("the session is there")
    }

    pub(super) async fn create(&self, wanted: CreateSessionRequest) -> Arc<SessionHandle> {
        self.sessions.create(wanted).await.unwrap().session
    }

    pub(super) async fn look<T: Send + 'static>(
        &self,
        session: &SessionHandle,
        look: impl FnOnce(&SpaceState) -> T + Send + 'static,
    ) -> T {
        look(&session.conversation.as_ref().unwrap().space.watch().await.unwrap().state)
    }

    pub(super) async fn command(&self, session: &SessionHandle, command: ConversationCommand) -> CommandAccepted {
        let conversation = session.conversation.as_ref().unwrap();
        conversation.space.command(conversation.me.clone(), None, command).await.unwrap().unwrap()
    }

    pub(super) async fn say(&self, session: &SessionHandle, text: &str) -> CommandAccepted {
        self.command(session, ConversationCommand::say(text.to_owned(), None)).await
    }

    /// Sends a message and waits until its turn is finished.
    pub(super) async fn turn(&self, session: &SessionHandle, text: &str) {
        let id = self.say(session, text).await.receipt.request_id;
        eventually("the turn is over", async || {
            let id = id.clone();
            self.look(session, move |state| {
                state.receipts.get(&id).is_some_and(|one| one.stage == ReceiptStage::Finished)
            })
            .await
        })
        .await;
    }

    /// Status as reported by the demo agent.
    pub(super) async fn status(&self, session: &SessionHandle) -> String {
        let call = ConversationCommand::Call(Some(ParticipantId::from("demo")), Call::ReportStatus);
        self.command(session, call).await.lines.join(" ")
    }

    pub(super) async fn items(&self, session: &SessionHandle) -> Vec<Item> {
        self.look(session, |state| {
            state.check().unwrap();
            state.items.iter().map(|item| (**item).clone()).collect()
        })
        .await
    }

    /// Waits until all items and the resume id are stored; returns the items.
    pub(super) async fn written(&self, session: &SessionHandle, named: bool) -> Vec<Item> {
        eventually("all is written", async || {
            let items = self.items(session).await;
            let page = self.store.items_from(session.id.as_str(), ItemPosition::START, 2000).await.unwrap();
            let read: Vec<Item> =
                page.items.iter().map(|row| wh_core::space::stored_item::read(&row.json).unwrap()).collect();
            let record = self.store.session(session.id.as_str()).await.unwrap().unwrap();
            read == items && record.resume.is_some() == named
        })
        .await;
        self.items(session).await
    }
}
