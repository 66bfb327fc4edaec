//! Lost replies and killed servers: a merge is there as a whole or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use memfold::record::record_digest;
use memfold::store::{Committed, State, history, show};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::support::merging::{Case, KINDS};
use crate::support::picture::{self, Picture};
use crate::support::server::{Server, connect};
use crate::support::store::Index;

/// Forwards to `port`; when `armed`, it delivers the next commit, and of the reply so many bytes,
/// then hangs up.
async fn reply_eater(port: u16, armed: Arc<AtomicBool>, passes: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            tokio::spawn(forward(client, server, armed.clone(), passes));
        }
    });
    own
}

async fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    armed: Arc<AtomicBool>,
    passes: usize,
) {
    let (mut up, mut down) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut eating = false;
    loop {
        tokio::select! {
            read = client.read(&mut up) => match read {
                Ok(n) if n > 0 => {
                    let commit = up[..n].windows(6).any(|word| word == b"commit");
                    eating = commit && armed.swap(false, Ordering::SeqCst);
                    server.write_all(&up[..n]).await.unwrap();
                }
                _ => return,
            },
            read = server.read(&mut down) => match read {
                Ok(n) if n > 0 && !eating => client.write_all(&down[..n]).await.unwrap(),
                Ok(n) if n > 0 => return client.write_all(&down[..passes.min(n)]).await.unwrap(),
                _ => return,
            },
        }
    }
}

#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_made_once() {
    // Lost as a whole, or cut.
    for (kind, passes) in KINDS.into_iter().zip([0, 1, 7, 30]) {
        let mut case = Case::new(kind).await;
        let keys = case.put(3).await;
        let plan = case.plan("M1", &keys).await;
        let armed = Arc::new(AtomicBool::new(false));
        let proxy = reply_eater(case.server.port(), armed.clone(), passes).await;
        case.con = connect(&format!("redis://127.0.0.1:{proxy}/?protocol=resp3")).await;
        armed.store(true, Ordering::SeqCst);
        assert_eq!(case.commit(&plan).await.unwrap(), Committed::Already);
        assert!(!armed.load(Ordering::SeqCst), "the proxy saw no commit");
        assert_eq!(history(&mut case.con, None, 10).await.unwrap().len(), 1);
        assert_eq!(picture::memories(&mut case.con).await.len(), 1);
    }
}

#[tokio::test]
async fn a_killed_server_comes_back_with_each_merge_whole_or_absent() {
    let rounds = if std::env::var_os("MEMFOLD_TEST_FULL").is_some() {
        25
    } else {
        2
    };
    for kind in KINDS {
        for round in 0..rounds {
            let server = Server::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
            let index = Index {
                storage: kind.0,
                ..Index::json()
            };
            let mut case = Case::over(index, kind.1, server).await;
            let groups: Vec<Vec<String>> = case
                .put(90)
                .await
                .chunks(3)
                .map(<[String]>::to_vec)
                .collect();
            let before = picture::all(&mut case.con).await;
            // Killed at some point among about 30 merges and 15 undos.
            let pid = case.server.pid();
            let killer = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(3 + 11 * round % 27)).await;
                std::process::Command::new("kill")
                    .args(["-9", &pid.to_string()])
                    .status()
                    .unwrap()
            });
            let acknowledged = merge_until_killed(&mut case, &groups).await;
            killer.await.unwrap();
            case.server.kill();
            case.server.restart();
            case.con = case.server.connect().await;
            check(&mut case, &groups, &before, &acknowledged).await;
        }
    }
}

/// Merges group after group, and undoes every other merge, until the server is gone. Gives the
/// groups whose last step was acknowledged, and in which state.
async fn merge_until_killed(case: &mut Case, groups: &[Vec<String>]) -> Vec<State> {
    let mut acknowledged = Vec::new();
    for (i, keys) in groups.iter().enumerate() {
        let id = format!("M{i}");
        let plan = match case.try_plan(&id, keys).await {
            Ok(plan) => plan,
            Err(_) => break,
        };
        if case.commit(&plan).await.is_err() {
            break;
        }
        acknowledged.push(State::Merged);
        if i % 2 == 1 {
            if case.undo(&id, false, false).await.is_err() {
                break;
            }
            acknowledged[i] = State::Undone;
        }
    }
    acknowledged
}

async fn check(case: &mut Case, groups: &[Vec<String>], before: &Picture, acknowledged: &[State]) {
    let after = picture::all(&mut case.con).await;
    for (i, keys) in groups.iter().enumerate() {
        let id = format!("M{i}");
        let copies = keys
            .iter()
            .map(|key| format!("memfold:undo:{id}:{{{key}}}"));
        let stored = show(&mut case.con, &id).await.unwrap();
        let state = stored.as_ref().map(|stored| stored.state);
        if let Some(State::Merged) = acknowledged.get(i) {
            assert!(state.is_some(), "{id} was acknowledged and is lost");
        }
        if let Some(State::Undone) = acknowledged.get(i) {
            assert_eq!(state, Some(State::Undone), "{id}");
        }
        if state == Some(State::Merged) {
            let result = record_digest(&case.read(&keys[0]).await);
            assert_eq!(
                Some(result),
                stored.map(|stored| stored.result_digest),
                "{id}"
            );
            assert!(keys[1..].iter().all(|key| !after.contains_key(key)), "{id}");
            for (key, copy) in keys.iter().zip(copies) {
                assert_eq!(after[&copy].content, before[key].content, "{id}");
                assert!(after[&copy].expires_at_ms > 0, "{id}");
            }
        } else {
            assert!(
                keys.iter().all(|key| after.get(key) == before.get(key)),
                "{id}"
            );
            assert!(
                copies.into_iter().all(|copy| !after.contains_key(&copy)),
                "{id}"
            );
        }
    }
}
