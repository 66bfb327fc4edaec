//! Vetoes: merges that were undone, or that a person forbade, are not made again while their members
//! say the same.
//!
//! A veto is a string, `memfold:veto:<group>`, which the commit checks on the server, and an entry
//! in the user's set `memfold:vetoes:<user>`, which says what its members are. It lives as long as
//! they do: once one is gone or says something else, it runs out after a grace in which that member
//! may still come back by an undo. Where memfold itself merges a member, the veto follows it: a
//! second one names the result in its place.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::aio::ConnectionLike;
use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};

use super::commit::millis;
use super::fleet::server_ms;
use super::ledger::MergeRecord;
use super::scan::Scan;
use super::{NAMESPACE, StoreError, keys};
use crate::memory::{Digest, PlanSource, PlannedMerge};
use crate::record::group_digest;

/// After its members are gone, a veto stays for the undo window and so much longer.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// One veto of a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veto {
    /// The merge that was undone; an id of its own where nothing was merged.
    pub merge_id: String,
    /// The group, as the string is named.
    pub group: String,
    /// Its members: the key, and the digest of what it says.
    pub members: BTreeMap<String, Digest>,
    /// Whether a member expires by itself, and the string with it.
    pub expires: bool,
    /// Why, in the words of whoever undid the merge or forbade it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Veto {
    /// The veto against making `merge` again.
    pub(crate) fn of(merge: &MergeRecord, reason: Option<&str>) -> Self {
        let members = merge.sources.iter();
        Self {
            merge_id: merge.merge_id.clone(),
            group: group(merge),
            members: members.map(|s| (s.key.clone(), s.said().clone())).collect(),
            expires: merge.sources.iter().any(|s| s.expires_at_ms.is_some()),
            reason: reason.map(str::to_owned),
        }
    }

    /// The veto against ever making these memories one, under a new id.
    pub fn against(id: String, members: &[PlanSource], reason: Option<&str>) -> Self {
        let said = |s: &PlanSource| (s.key.clone(), said_digest(&s.text));
        let members: BTreeMap<String, Digest> = members.iter().map(said).collect();
        Self {
            merge_id: id,
            group: group_of(&members),
            members,
            expires: false,
            reason: reason.map(str::to_owned),
        }
    }

    /// The same veto once `merged` are one memory, `result`, which says `said`; `None` where it has no
    /// member among them, or no other one, or one that said something else on the result's key.
    fn after(&self, merged: &[PlanSource], result: &str, said: &Digest) -> Option<Self> {
        let is_merged = |key: &str, said: &Digest| {
            let same = |s: &PlanSource| s.key == key && said_digest(&s.text) == *said;
            merged.iter().any(same)
        };
        let mut members = self.members.clone();
        members.retain(|key, said| !is_merged(key, said));
        if members.is_empty() || members.len() == self.members.len() {
            return None;
        }
        if members.insert(result.to_owned(), said.clone()).is_some() {
            return None;
        }
        Some(Self {
            group: group_of(&members),
            members,
            ..self.clone()
        })
    }

    /// Whether all its members are among `memories`, by key and what they say.
    pub fn is_within(&self, memories: &BTreeMap<&str, Digest>) -> bool {
        let mut members = self.members.iter();
        members.all(|(key, said)| memories.get(key.as_str()) == Some(said))
    }
}

/// The key of a user's set.
pub fn set_of(partition: &str) -> String {
    keys::vetoes(partition)
}

/// The digest of what a memory says: metadata is no part of it.
pub fn said_digest(text: &str) -> Digest {
    Digest(format!("{:x}", Sha1::digest(text.as_bytes())))
}

/// The name of the group that `merge` made one.
pub(crate) fn group(merge: &MergeRecord) -> String {
    group_digest(merge.sources.iter().map(|s| (s.key.as_str(), s.said())))
}

fn group_of(members: &BTreeMap<String, Digest>) -> String {
    group_digest(members.iter().map(|(key, said)| (key.as_str(), said)))
}

/// The vetoes of a user that are in force.
///
/// # Errors
/// [`StoreError`] if they cannot be read.
pub async fn vetoes(
    con: &mut impl ConnectionLike,
    partition: &str,
) -> Result<Vec<Veto>, StoreError> {
    living(con, &keys::vetoes(partition)).await
}

/// The vetoes of a set that are in force.
async fn living(con: &mut impl ConnectionLike, set: &str) -> Result<Vec<Veto>, StoreError> {
    let listed = listed(con, set).await?;
    let expiries = expiries(con, &listed).await?;
    let living = listed
        .into_iter()
        .zip(expiries)
        .filter(|(_, left)| left.is_some());
    Ok(living.filter_map(|((veto, _), _)| veto).collect())
}

/// Who forbids a group, for the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Forbids<'a> {
    /// The name under which the user's vetoes are kept ([`super::partition_name`]).
    pub partition: &'a str,
    /// The owner of the memories.
    pub user: &'a str,
    /// The run in which it was decided.
    pub run_id: &'a str,
    /// How long the ledger keeps its entries.
    pub ledger: Duration,
}

/// Puts a veto in force and writes it down, in one step. It lives as long as all its members can.
///
/// # Errors
/// [`StoreError`] of the server or connection; nothing was written then, unless the answer was lost.
pub async fn forbid(
    con: &mut impl ConnectionLike,
    by: &Forbids<'_>,
    mut veto: Veto,
) -> Result<(), StoreError> {
    let now = server_ms(con).await?;
    let mut pipe = redis::pipe();
    for key in veto.members.keys() {
        pipe.cmd("PEXPIRETIME").arg(key);
    }
    let expiries: Vec<i64> = pipe.query_async(con).await?;
    let first_expiry = expiries.into_iter().filter(|at| *at >= 0).min();
    veto.expires = first_expiry.is_some();
    let entry = serde_json::to_string(&veto).map_err(StoreError::protocol)?;
    let mut pipe = redis::pipe();
    pipe.atomic();
    pipe.cmd("SET")
        .arg(keys::veto(&veto.group))
        .arg(&veto.merge_id);
    pipe.arg("NX");
    if let Some(at) = first_expiry {
        pipe.arg("PXAT").arg(at);
    }
    pipe.ignore();
    pipe.cmd("SADD")
        .arg(keys::vetoes(by.partition))
        .arg(entry)
        .ignore();
    let oldest = now.saturating_sub(i64::try_from(millis(by.ledger)).unwrap_or(i64::MAX));
    pipe.cmd("XADD")
        .arg(keys::LEDGER)
        .arg("MINID")
        .arg("~")
        .arg(oldest.max(0))
        .arg("*");
    pipe.arg("merge_id")
        .arg(&veto.merge_id)
        .arg("event")
        .arg("vetoed");
    pipe.arg("user").arg(by.user).arg("run_id").arg(by.run_id);
    pipe.arg("at_ms")
        .arg(now)
        .arg("retired")
        .arg(veto.members.len());
    if let Some(reason) = &veto.reason {
        pipe.arg("reason").arg(reason);
    }
    pipe.ignore();
    Ok(pipe.query_async::<()>(con).await?)
}

/// Lets the vetoes of `partition` follow their members into `merge`, which is about to be committed.
/// Should it not come to that, what was written is about a memory that is not there, and runs out.
///
/// # Errors
/// [`StoreError`] of the server or connection; the merge must wait then.
pub async fn follow(
    con: &mut impl ConnectionLike,
    partition: &str,
    vetoes: &[Veto],
    merge: &PlannedMerge,
) -> Result<(), StoreError> {
    let said = said_digest(&merge.text);
    let after = |veto: &Veto| {
        let after = veto.after(&merge.sources, &merge.result_key, &said)?;
        Some((keys::veto(&veto.group), after))
    };
    let followed: Vec<(String, Veto)> = vetoes.iter().filter_map(after).collect();
    if followed.is_empty() {
        return Ok(());
    }
    let mut pipe = redis::pipe();
    for (before, _) in &followed {
        pipe.cmd("PEXPIRETIME").arg(before);
    }
    let expiries: Vec<i64> = pipe.query_async(con).await?;
    let mut pipe = redis::pipe();
    pipe.atomic();
    for ((_, veto), expiry) in followed.iter().zip(expiries) {
        let entry = serde_json::to_string(veto).map_err(StoreError::protocol)?;
        pipe.cmd("SET").arg(keys::veto(&veto.group));
        pipe.arg(&veto.merge_id).arg("NX");
        // Of one that runs out only because a member is away, the new one does not.
        if veto.expires && expiry > 0 {
            pipe.arg("PXAT").arg(expiry);
        }
        pipe.ignore();
        let set = keys::vetoes(partition);
        pipe.cmd("SADD").arg(set).arg(entry).ignore();
    }
    Ok(pipe.query_async::<()>(con).await?)
}

/// The veto of this id, if it is in force. Goes through the sets of all users.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn find_veto(
    con: &mut impl ConnectionLike,
    id: &str,
) -> Result<Option<Veto>, StoreError> {
    for set in veto_sets(con).await? {
        let found = living(con, &set).await?;
        if let Some(veto) = found.into_iter().find(|veto| veto.merge_id == id) {
            return Ok(Some(veto));
        }
    }
    Ok(None)
}

/// Drops those of a user's vetoes whose members are gone: of `is_there`, which says whether all
/// members of a veto are there and say the same.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn trim_vetoes(
    con: &mut impl ConnectionLike,
    set: &str,
    undo_window: Duration,
    is_there: impl Fn(&Veto) -> bool,
) -> Result<(), StoreError> {
    let listed = listed(con, set).await?;
    let expiries = expiries(con, &listed).await?;
    let grace = (undo_window + GRACE).as_millis() as u64;
    let mut pipe = redis::pipe();
    let mut changes = 0;
    for ((veto, entry), left) in listed.iter().zip(expiries) {
        let Some((veto, left)) = veto.as_ref().zip(left) else {
            pipe.cmd("SREM").arg(set).arg(entry).ignore();
            changes += 1;
            continue;
        };
        let (key, there) = (keys::veto(&veto.group), is_there(veto));
        if !there && left == FOR_EVER {
            pipe.cmd("PEXPIRE").arg(key).arg(grace).ignore();
            changes += 1;
        } else if there && left != FOR_EVER && !veto.expires {
            pipe.cmd("PERSIST").arg(key).ignore();
            changes += 1;
        }
    }
    if changes > 0 {
        pipe.query_async::<()>(con).await?;
    }
    Ok(())
}

/// Drops the veto against making this merge again; `false` = there is none. Goes through the sets of
/// all users.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn lift_veto(con: &mut impl ConnectionLike, merge_id: &str) -> Result<bool, StoreError> {
    let mut lifted = false;
    for set in veto_sets(con).await? {
        for (veto, entry) in listed(con, &set).await? {
            let Some(veto) = veto.filter(|veto| veto.merge_id == merge_id) else {
                continue;
            };
            let mut pipe = redis::pipe();
            pipe.atomic();
            pipe.cmd("UNLINK").arg(keys::veto(&veto.group)).ignore();
            pipe.cmd("SREM").arg(&set).arg(&entry).ignore();
            pipe.query_async::<()>(con).await?;
            lifted = true;
        }
    }
    Ok(lifted)
}

/// The sets of all users.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn veto_sets(con: &mut impl ConnectionLike) -> Result<Vec<String>, StoreError> {
    let mut sets = Vec::new();
    let mut scan = Scan::of(&format!("{NAMESPACE}vetoes:")).of_type("set");
    while let Some(found) = scan.next::<String>(con).await? {
        sets.extend(found);
    }
    sets.sort();
    sets.dedup();
    Ok(sets)
}

/// Drops the vetoes of users whose memories are gone altogether; those of others are trimmed when
/// their users are read.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn trim_orphaned_vetoes(
    con: &mut impl ConnectionLike,
    undo_window: Duration,
) -> Result<(), StoreError> {
    for set in veto_sets(con).await? {
        let members: Vec<String> = listed(con, &set)
            .await?
            .into_iter()
            .filter_map(|(veto, _)| veto)
            .flat_map(|veto| veto.members.into_keys())
            .collect();
        let mut there = BTreeMap::new();
        for chunk in members.chunks(500) {
            let mut pipe = redis::pipe();
            for key in chunk {
                pipe.cmd("EXISTS").arg(key);
            }
            let found: Vec<bool> = pipe.query_async(con).await?;
            there.extend(chunk.iter().cloned().zip(found));
        }
        let is_there = |veto: &Veto| veto.members.keys().all(|key| there.get(key) == Some(&true));
        trim_vetoes(con, &set, undo_window, is_there).await?;
    }
    Ok(())
}

/// What `PTTL` says of a key that does not expire.
const FOR_EVER: i64 = -1;

/// The entries of a set, each with what it says if that can be read.
async fn listed(
    con: &mut impl ConnectionLike,
    set: &str,
) -> Result<Vec<(Option<Veto>, String)>, StoreError> {
    let entries: Vec<String> = redis::cmd("SMEMBERS").arg(set).query_async(con).await?;
    let read = |entry: String| (serde_json::from_str(&entry).ok(), entry);
    Ok(entries.into_iter().map(read).collect())
}

/// How long the strings still live, in ms; `None` = not any more.
async fn expiries(
    con: &mut impl ConnectionLike,
    listed: &[(Option<Veto>, String)],
) -> Result<Vec<Option<i64>>, StoreError> {
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    let mut pipe = redis::pipe();
    for (veto, _) in listed {
        let group = veto.as_ref().map_or("", |veto| &veto.group);
        pipe.cmd("PTTL").arg(keys::veto(group));
    }
    let left: Vec<i64> = pipe.query_async(con).await?;
    Ok(left
        .into_iter()
        .map(|ms| (ms >= FOR_EVER).then_some(ms))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(key: &str, text: &str) -> PlanSource {
        PlanSource {
            key: key.to_owned(),
            digest: Digest(String::new()),
            text: text.to_owned(),
            created_at: None,
            distance: 0.0,
        }
    }

    #[test]
    fn a_veto_follows_its_members_into_a_merge() {
        let (a, twin, b) = (
            source("a", "tea"),
            source("t", "tea."),
            source("b", "no tea"),
        );
        let veto = Veto::against("01V".into(), &[a.clone(), b.clone()], Some("both hold"));
        let said = said_digest("tea.");
        let after = veto.after(&[a.clone(), twin.clone()], "a", &said).unwrap();
        let expected = Veto::against(
            "01V".into(),
            &[source("a", "tea."), b.clone()],
            Some("both hold"),
        );
        assert_eq!(after, expected);
        // Several members that become one, beside another one.
        let three = Veto::against("01V".into(), &[a.clone(), twin.clone(), b.clone()], None);
        let after = three.after(&[a.clone(), twin.clone()], "t", &said).unwrap();
        assert_eq!(after.members.keys().collect::<Vec<_>>(), ["b", "t"]);
        // Of other memories, of one that says something else, and of all members.
        let other = source("c", "tea");
        let edited = source("a", "coffee");
        for merged in [
            vec![other, twin.clone()],
            vec![edited.clone(), twin],
            vec![a, b.clone()],
            vec![edited, b],
        ] {
            assert_eq!(veto.after(&merged, "a", &said), None);
        }
    }
}
