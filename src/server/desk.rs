//! What the HTTP side works with: the pipeline in force, and who its users are.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

use super::problem::Problem;
use crate::merge::Pipeline;
use crate::store::{Probe, history, probes};
use crate::worker::user_hash;

/// How long the list of users is taken for true.
const FRESH: Duration = Duration::from_secs(5);
/// Users that are read and compared at once: it takes memory and a core each.
const READERS: usize = 2;
/// Entries of the ledger that are looked through for users without memories.
const LEDGER_LOOK: usize = 10_000;

/// The way to the store, kept up by the worker: it puts its pipeline here each time it has opened
/// one.
#[derive(Clone)]
pub struct Desk(Arc<Inner>);

struct Inner {
    pipeline: RwLock<Option<Pipeline>>,
    directory: Mutex<Option<Arc<Directory>>>,
    readers: Semaphore,
}

impl Default for Desk {
    fn default() -> Self {
        Self(Arc::new(Inner {
            pipeline: RwLock::default(),
            directory: Mutex::default(),
            readers: Semaphore::new(READERS),
        }))
    }
}

impl Desk {
    /// From now on, work with this pipeline.
    pub fn open(&self, pipeline: Pipeline) {
        let mut place = self
            .0
            .pipeline
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = Some(pipeline);
    }

    /// The pipeline in force.
    pub(super) fn pipeline(&self) -> Result<Pipeline, Problem> {
        let place = self.0.pipeline.read();
        let found = place.unwrap_or_else(PoisonError::into_inner).clone();
        found.ok_or_else(|| {
            Problem::unavailable("the store was not reached yet; /readyz says why, try again soon")
        })
    }

    /// Leave to read and compare a user's memories.
    pub(super) async fn reader(&self) -> Result<SemaphorePermit<'_>, Problem> {
        let permit = self.0.readers.acquire().await;
        permit.map_err(|_| Problem::unavailable("the worker stops"))
    }

    /// All users, the one with the most memories first.
    pub(super) async fn directory(&self) -> Result<Arc<Directory>, Problem> {
        let mut known = self.0.directory.lock().await;
        if let Some(known) = known.as_ref().filter(|known| known.at.elapsed() < FRESH) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(Directory::read(&self.pipeline()?).await?);
        *known = Some(Arc::clone(&found));
        Ok(found)
    }

    /// The user of an id.
    pub(super) async fn user(&self, id: &str) -> Result<Person, Problem> {
        let directory = self.directory().await?;
        match directory.of(id)[..] {
            [] => {}
            [person] => return Ok(person.clone()),
            _ => return Err(ambiguous(id)),
        }
        // Somebody whose memories are all gone may still have a history.
        let mut conn = self.pipeline()?.conn;
        let entries = history(&mut conn, None, LEDGER_LOOK).await?;
        let mut gone = entries.into_iter().map(|entry| entry.user);
        match gone.find(|user| user_hash(user) == id) {
            Some(user) => Ok(Person::new(user, Probe::default())),
            None => Err(Problem::not_found(format!(
                "there is no user with the id {id}; GET /api/v1/users lists them, and POST \
                 /api/v1/users/find gives the id of a user"
            ))),
        }
    }

    /// The user of a name.
    pub(super) async fn user_named(&self, name: &str) -> Result<Person, Problem> {
        let person = self.user(&user_hash(name)).await?;
        if person.user == name {
            Ok(person)
        } else {
            Err(ambiguous(&person.id))
        }
    }
}

fn ambiguous(id: &str) -> Problem {
    let detail = format!("two users have the id {id}; use the command line, which takes names");
    Problem::conflict("ambiguous-user", detail)
}

/// A user as the HTTP side names it.
#[derive(Clone, Debug)]
pub(super) struct Person {
    /// What stands for the user in paths and logs.
    pub(super) id: String,
    /// The name, exactly as stored.
    pub(super) user: String,
    /// What the index says.
    pub(super) probe: Probe,
}

impl Person {
    fn new(user: String, probe: Probe) -> Self {
        let id = user_hash(&user);
        Self { id, user, probe }
    }
}

/// The users of an index at one time.
pub(super) struct Directory {
    at: Instant,
    pub(super) people: Vec<Person>,
    by_id: HashMap<String, Vec<usize>>,
}

impl Directory {
    async fn read(pipeline: &Pipeline) -> Result<Self, Problem> {
        let mut conn = pipeline.conn.clone();
        let users = probes(&mut conn, &pipeline.index, pipeline.layout.as_ref()).await?;
        let people = users
            .into_iter()
            .map(|(user, probe)| Person::new(user.into_string(), probe))
            .collect();
        Ok(Self::of_people(people))
    }

    fn of_people(mut people: Vec<Person>) -> Self {
        people.sort_by(|a, b| (b.probe.count, &a.user).cmp(&(a.probe.count, &b.user)));
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        for (i, person) in people.iter().enumerate() {
            by_id.entry(person.id.clone()).or_default().push(i);
        }
        Self {
            at: Instant::now(),
            people,
            by_id,
        }
    }

    /// All users of an id.
    fn of(&self, id: &str) -> Vec<&Person> {
        let places = self.by_id.get(id).map_or(&[][..], Vec::as_slice);
        places.iter().map(|&i| &self.people[i]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_one_id_are_told_apart() {
        let probe = |count| Probe { count, digest: 0 };
        let mut people: Vec<Person> = ["alice", "bob", "carol"]
            .into_iter()
            .zip([3, 9, 9])
            .map(|(name, count)| Person::new(name.to_owned(), probe(count)))
            .collect();
        people[2].id = people[1].id.clone();
        let (alice, both) = (people[0].id.clone(), people[1].id.clone());
        let directory = Directory::of_people(people);
        let names: Vec<_> = directory.people.iter().map(|p| p.user.as_str()).collect();
        assert_eq!(names, ["bob", "carol", "alice"]);
        assert_eq!(directory.of(&alice).len(), 1);
        assert_eq!(directory.of(&both).len(), 2);
        assert!(directory.of("").is_empty());
    }
}
