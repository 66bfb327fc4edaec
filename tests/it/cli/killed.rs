//! memfold killed at any moment, and two of them at once: each fact stays exactly once, or as its
//! originals.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;
use crate::support::cli::{Meddler, When};

/// Pairs of memories.
const PAIRS: usize = 12;

/// A store of [`PAIRS`] twins of alice.
async fn pairs(storage: Index) -> World {
    let mut world = World::over(Index {
        dims: PAIRS,
        ..storage
    })
    .await;
    for i in 0..PAIRS {
        world.put_twins("alice", &name(i), i).await;
    }
    world
}

fn name(i: usize) -> String {
    format!("N{i:02}x")
}

/// Each pair is whole as before, or one merged memory on the first key whose originals can be
/// had back. Gives how many are merged.
async fn assert_whole(world: &mut World, before: &Picture) -> usize {
    let all = still(world).await;
    let mut merged = 0;
    for i in 0..PAIRS {
        let [first, second] = ["1", "2"].map(|end| format!("memory:{}{end}", name(i)));
        if all.contains_key(&second) {
            assert_eq!(all.get(&first), before.get(&first), "{first}");
            assert_eq!(all.get(&second), before.get(&second), "{second}");
            continue;
        }
        merged += 1;
        let text = String::from_utf8_lossy(&all[&first].content.concat()).into_owned();
        assert!(
            text.contains(&format!("{} likes tea", name(i))),
            "{first}: {text}"
        );
        assert!(text.contains("source_count"), "{first}: {text}");
        for key in [&first, &second] {
            let copy = all.iter().find(|(name, _)| {
                name.starts_with("memfold:undo:") && name.ends_with(&format!("{{{key}}}"))
            });
            assert_eq!(copy.unwrap().1.content, before[key].content, "{key}");
        }
    }
    merged
}

/// Everything, once the last command of a killed run has been carried out.
async fn still(world: &mut World) -> Picture {
    let mut last = world.all().await;
    loop {
        let now = world.all().await;
        if now == last {
            return now;
        }
        last = now;
    }
}

/// Runs to the end, waiting for the lease of a run that was killed.
fn finish(world: &World) {
    let start = Instant::now();
    loop {
        let done = world.run(&["merge", "--user", "alice"]);
        if done.code == Some(0) {
            return;
        }
        assert_eq!(done.code, Some(6), "{done:#?}");
        assert!(start.elapsed() < Duration::from_secs(60), "{done:#?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Every run of the ledger undone brings back the picture.
async fn assert_undone(world: &mut World, before: &Picture) {
    let history = world.run(&["history", "--json", "--limit", "1000"]).ends(0);
    let history = history.json();
    let entries = list(&history["entries"]);
    let runs: BTreeSet<&str> = entries.iter().map(run_id).collect();
    for run in runs.iter().rev() {
        world.run(&["undo", "--run", run]).ends(0);
    }
    assert_eq!(&world.memories().await, before);
}

/// Starts a run and kills it this long after its first commit is on its way.
fn kill_among_commits(world: &World, delay: Duration) {
    let (tell, pid) = mpsc::channel::<u32>();
    let act = move || {
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            kill(pid.recv().unwrap(), "-9");
        });
    };
    let meddler = Meddler::new(
        world.server.port(),
        "memfold_1_commit",
        0,
        When::Before,
        act,
    );
    let child = Cli::new(&meddler.url()).start(&["merge", "--user", "alice"]);
    tell.send(child.id()).unwrap();
    child.wait_with_output().unwrap();
}

fn kill(pid: u32, signal: &str) {
    let mut kill = std::process::Command::new("kill");
    // It may have come to its end by itself.
    let _ = kill.args([signal, &pid.to_string()]).output().unwrap();
}

/// Takes away the lease that a killed run has left.
async fn drop_lease(world: &mut World) {
    for key in world
        .command::<Vec<String>>(&["KEYS", "memfold:lease:*"])
        .await
    {
        let () = world.command(&["DEL", &key]).await;
    }
}

#[tokio::test]
async fn killed_before_or_after_a_commit() {
    for (when, skip) in [
        (When::Before, 0),
        (When::Answered, 0),
        (When::Before, 5),
        (When::Answered, 5),
        (When::Answered, PAIRS - 1),
    ] {
        let mut world = pairs(Index::json()).await;
        let before = world.memories().await;
        let (tell, pid) = mpsc::channel::<u32>();
        let act = move || kill(pid.recv().unwrap(), "-9");
        let meddler = Meddler::new(world.server.port(), "memfold_1_commit", skip, when, act);
        let cli = Cli::new(&meddler.url()).set("lease_ttl", "700ms");
        let child = cli.start(&["merge", "--user", "alice"]);
        tell.send(child.id()).unwrap();
        let done = Done::of(&[], child.wait_with_output().unwrap());
        assert_eq!(done.code, None, "{done:#?}");
        let merged = assert_whole(&mut world, &before).await;
        let made = skip + usize::from(when == When::Answered);
        // The command that came by before the kill is still carried out by the server.
        assert!(
            merged == made || merged == made + 1,
            "{when:?} {skip}: {merged}"
        );
        finish(&world);
        assert_eq!(assert_whole(&mut world, &before).await, PAIRS);
        assert_undone(&mut world, &before).await;
    }
}

#[tokio::test]
async fn killed_at_any_moment() {
    let rounds = if std::env::var_os("MEMFOLD_TEST_FULL").is_some() {
        60
    } else {
        4
    };
    for storage in [Index::json(), Index::hash()] {
        let mut world = pairs(storage).await.set("lease_ttl", "400ms");
        let before = world.memories().await;
        let start = Instant::now();
        finish(&world);
        let full = start.elapsed();
        assert_undone(&mut world, &before).await;
        for round in 0..rounds {
            // What was undone is not merged again; here it is to be.
            for key in world.command::<Vec<String>>(&["KEYS", "memfold:*"]).await {
                let () = world.command(&["DEL", &key]).await;
            }
            // Anywhere in the run, then among the commits, where most moments count.
            let share = (round * 7 % 20) as f64 / 20.0;
            let mut child = world.cli.start(&["merge", "--user", "alice"]);
            std::thread::sleep(full.mul_f64(share));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_whole(&mut world, &before).await;
            drop_lease(&mut world).await;
            for kill in 0..2 {
                let delay = Duration::from_micros((round * 2900 + kill * 1700) % 9000);
                kill_among_commits(&world, delay);
                assert_whole(&mut world, &before).await;
                drop_lease(&mut world).await;
            }
            finish(&world);
            assert_eq!(assert_whole(&mut world, &before).await, PAIRS);
            assert_undone(&mut world, &before).await;
        }
    }
}

#[tokio::test]
async fn two_at_once_do_what_one_does() {
    for round in 0..3 {
        let mut world = pairs(Index::json()).await;
        let before = world.memories().await;
        let children = [0, 1].map(|_| world.cli.start(&["merge", "--user", "alice"]));
        let dones = children.map(|child| Done::of(&[], child.wait_with_output().unwrap()));
        let mut codes: Vec<Option<i32>> = dones.iter().map(|done| done.code).collect();
        codes.sort_unstable();
        assert!(
            codes == [Some(0), Some(0)] || codes == [Some(0), Some(6)],
            "{round}: {dones:#?}"
        );
        for done in dones.into_iter().filter(|done| done.code == Some(6)) {
            done.says(&["another memfold", "alice"]);
        }
        assert_eq!(assert_whole(&mut world, &before).await, PAIRS);
        let entries = world.run(&["history", "--json", "--limit", "100"]).json();
        assert_eq!(list(&entries["entries"]).len(), PAIRS);
        assert_undone(&mut world, &before).await;
    }
}

#[tokio::test]
async fn the_second_of_two_is_told_who_works() {
    let mut world = pairs(Index::json()).await;
    let before = world.memories().await;
    let cli = Cli::new(&world.server.url());
    let (tell, told) = mpsc::channel();
    // While the first one is held up at its first commit, the second one comes.
    let second = move || tell.send(cli.run(&["merge", "--user", "alice"])).unwrap();
    let meddler = Meddler::new(
        world.server.port(),
        "memfold_1_commit",
        0,
        When::Before,
        second,
    );
    let first = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    told.recv()
        .unwrap()
        .ends(6)
        .says(&["user alice", "another memfold works on this user"]);
    first.ends(0);
    assert_eq!(assert_whole(&mut world, &before).await, PAIRS);
}

#[tokio::test]
async fn a_run_that_lost_its_lease_writes_no_more() {
    let mut world = pairs(Index::json()).await;
    let before = world.memories().await;
    let port = world.server.port();
    let take = move || {
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
        let mut con = client.get_connection().unwrap();
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg("memfold:lease:*")
            .query(&mut con)
            .unwrap();
        let mut set = redis::cmd("SET");
        set.arg(&keys[0]).arg("999:another").exec(&mut con).unwrap();
    };
    let meddler = Meddler::new(port, "memfold_1_commit", 3, When::Before, take);
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    assert_ne!(done.code, Some(0), "{done:#?}");
    done.says(&["lease", "lost"]);
    assert_eq!(assert_whole(&mut world, &before).await, 3);
    assert_undone(&mut world, &before).await;
}

#[tokio::test]
async fn a_first_signal_lets_the_merge_in_hand_finish() {
    let mut world = pairs(Index::json()).await;
    let before = world.memories().await;
    let (tell, pid) = mpsc::channel::<u32>();
    let stop = move || {
        kill(pid.recv().unwrap(), "-INT");
        // The signal is on its way; the command goes on when it has had time to arrive.
        std::thread::sleep(Duration::from_millis(200));
    };
    let meddler = Meddler::new(
        world.server.port(),
        "memfold_1_commit",
        4,
        When::Before,
        stop,
    );
    let cli = Cli::new(&meddler.url());
    let child = cli.start(&["merge", "--user", "alice"]);
    tell.send(child.id()).unwrap();
    let done = Done::of(&[], child.wait_with_output().unwrap()).ends(130);
    let done = done.says(&["stopping after the group in hand"]);
    done.shows(&["stopped before the end", "memfold undo --run"]);
    assert_eq!(assert_whole(&mut world, &before).await, 5);
    finish(&world);
    assert_undone(&mut world, &before).await;
}
