//! A plan with everything in it, for tests.

use crate::memory::{
    Author, Digest, Finding, GroupLeft, LeftAlone, Partition, Plan, PlanSource, PlannedMerge,
    Reason, Threshold, VectorOrigin,
};
use crate::merge::{Done, LlmUse, Quality, Report};

pub(crate) fn plan() -> Plan {
    Plan {
        version: 1,
        index: "agent_memories".into(),
        user: "用户一".into(),
        memories: 12,
        threshold: Threshold {
            value: 0.1,
            origin: "default".into(),
        },
        distance: "stored".into(),
        merges: vec![kept(), written()],
        groups_left: vec![needs_llm(), guarded()],
        left_alone: vec![
            left("memory:a1", Reason::ForeignUser, "user \"Alice\""),
            left("memory:a2", Reason::ForeignUser, "user \" alice \""),
            left(
                "memory:a3\u{1b}[2J",
                Reason::BadVector,
                "192 numbers, the index has 384",
            ),
        ],
    }
}

pub(crate) fn report() -> Report {
    let plan = plan();
    let done = |merge: &PlannedMerge| Done {
        merge_id: merge.merge_id.clone(),
        result_key: merge.result_key.clone(),
        retired: merge.sources[1..]
            .iter()
            .map(|source| source.key.clone())
            .collect(),
        at_ms: 0,
    };
    Report {
        run_id: "01K9RUN0000000000000000000".into(),
        merged: plan.merges[..1].iter().map(done).collect(),
        not_committed: vec![GroupLeft {
            reason: Reason::Changed,
            ..needs_llm()
        }],
        quality: Quality::of(&plan.merges[..1]),
        llm: LlmUse {
            calls: 2,
            tokens: 512,
            accepted: 0,
            retried: 1,
            kept: 1,
        },
        stopped: true,
        plan: Plan {
            groups_left: vec![guarded()],
            ..plan
        },
    }
}

fn source(key: &str, day: Option<&str>, distance: f64, text: &str) -> PlanSource {
    PlanSource {
        key: key.into(),
        digest: Digest("da39a3ee5e6b4b0d3255bfef95601890afd80709".into()),
        text: text.into(),
        created_at: day.map(|day| format!("{day}T08:30:00Z").parse().unwrap()),
        distance,
    }
}

fn partition(memory_type: &str) -> Partition {
    Partition {
        user: "用户一".into(),
        scope: vec!["work".into()],
        memory_type: memory_type.into(),
    }
}

fn kept() -> PlannedMerge {
    PlannedMerge {
        merge_id: "01K9MERGE00000000000000001".into(),
        partition: partition("semantic"),
        sources: vec![
            source(
                "memory:01K9AAAAAAAAAAAAAAAAAAAAA1",
                Some("2026-03-01"),
                0.031,
                "喜欢靠窗的座位",
            ),
            source(
                "memory:01K9AAAAAAAAAAAAAAAAAAAAA2",
                Some("2026-04-02"),
                0.031,
                "用户喜欢靠窗的座位。",
            ),
        ],
        result_key: "memory:01K9AAAAAAAAAAAAAAAAAAAAA1".into(),
        text: "用户喜欢靠窗的座位。".into(),
        author: Author::Extractive {
            kept: "memory:01K9AAAAAAAAAAAAAAAAAAAAA2".into(),
        },
        vector_origin: VectorOrigin::Source,
        vector: vec![],
        findings: vec![],
    }
}

fn written() -> PlannedMerge {
    PlannedMerge {
        merge_id: "01K9MERGE00000000000000002".into(),
        partition: partition("episodic"),
        sources: vec![
            source(
                "memory:b1",
                Some("2026-05-05"),
                0.08,
                "Booked \x1b[31mseat 12A\x1b[0m\r\nto Oslo \u{202e}olsO",
            ),
            source(
                "memory:b2",
                None,
                0.08,
                "Booked a window seat 👩‍👩‍👧 to Oslo, the one in row twelve, with a long text that does not fit into one line of a terminal",
            ),
        ],
        result_key: "memory:b1".into(),
        text: "Booked window seat 12A to Oslo.".into(),
        author: Author::Llm {
            model: "qwen3".into(),
            prompt: "merge-v1.en".into(),
            tokens: 431,
            calls: 2,
        },
        vector_origin: VectorOrigin::Embedded,
        vector: vec![0.5, -0.5, 0.1],
        findings: vec![finding("numbers", &["12A"], &[])],
    }
}

fn needs_llm() -> GroupLeft {
    GroupLeft {
        partition: partition("semantic"),
        members: vec![
            source(
                "memory:c1",
                Some("2026-06-01"),
                0.09,
                "Likes tea in the morning",
            ),
            source(
                "memory:c2",
                Some("2026-06-02"),
                0.09,
                "Drinks green tea before work",
            ),
        ],
        reason: Reason::NeedsLlm,
        detail: "no text contains all that the other says".into(),
        findings: vec![],
    }
}

fn guarded() -> GroupLeft {
    GroupLeft {
        partition: Partition {
            user: "用户一".into(),
            scope: vec![],
            memory_type: String::new(),
        },
        members: vec![
            source("memory:d1", Some("2026-06-01"), 0.04, "The mic is great"),
            source("memory:d2", Some("2026-06-02"), 0.04, "The mic isn't great"),
        ],
        reason: Reason::GuardObjects,
        detail: String::new(),
        findings: vec![finding("negation", &[], &["isn't"])],
    }
}

fn finding(guard: &str, left: &[&str], right: &[&str]) -> Finding {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Finding {
        guard: guard.into(),
        left: words(left),
        right: words(right),
    }
}

fn left(key: &str, reason: Reason, detail: &str) -> LeftAlone {
    LeftAlone {
        key: key.into(),
        reason,
        detail: detail.into(),
    }
}
