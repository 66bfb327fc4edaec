//! What one run may spend on the LLM, taken out of the budgets of its user and of the day before it
//! begins; what it does not use is given back.

use redis::aio::ConnectionLike;

use super::LlmLimits;
use crate::store::{Counter, Spent, StoreError};

/// What one run may spend.
#[derive(Debug)]
pub(super) struct Budget {
    /// Calls; `None` = no limit.
    pub(super) calls: Option<u64>,
    /// Tokens; `None` = no limit.
    pub(super) tokens: Option<u64>,
    user_calls: Counter,
    day_calls: Counter,
    user_tokens: Counter,
    day_tokens: Counter,
}

impl Budget {
    /// Takes a budget for a run over the user of `partition`.
    pub(super) async fn take(
        con: &mut impl ConnectionLike,
        limits: &LlmLimits,
        partition: &str,
        now_ms: i64,
    ) -> Result<Self, StoreError> {
        let of_user = |what| Counter::of_day(what, Some(partition), now_ms);
        let of_day = |what| Counter::of_day(what, None, now_ms);
        let mut budget = Self {
            calls: None,
            tokens: limits.run_tokens,
            user_calls: of_user(Spent::Calls),
            day_calls: of_day(Spent::Calls),
            user_tokens: of_user(Spent::Tokens),
            day_tokens: of_day(Spent::Tokens),
        };
        // How many tokens a run takes is not known before; it ends when they are spent.
        for (counter, limit) in [
            (&budget.user_tokens, limits.user_tokens),
            (&budget.day_tokens, limits.day_tokens),
        ] {
            if let Some(limit) = limit {
                let left = limit.saturating_sub(counter.get(con).await?);
                budget.tokens = Some(budget.tokens.map_or(left, |tokens| tokens.min(left)));
            }
        }
        let limits = [limits.run_calls, limits.user_calls, limits.day_calls];
        let Some(mut calls) = limits.into_iter().flatten().min() else {
            return Ok(budget);
        };
        let [_, of_user, of_day] = limits;
        if let Some(limit) = of_user {
            calls = budget.user_calls.reserve(con, calls, limit).await?;
        }
        if let Some(limit) = of_day {
            let granted = budget.day_calls.reserve(con, calls, limit).await?;
            if of_user.is_some() {
                budget.user_calls.give_back(con, calls - granted).await?;
            }
            calls = granted;
        }
        budget.calls = Some(calls);
        Ok(budget)
    }

    /// Books what the run has used.
    pub(super) async fn book(
        self,
        con: &mut impl ConnectionLike,
        limits: &LlmLimits,
        calls: u64,
        tokens: u64,
    ) -> Result<(), StoreError> {
        for (counter, limit) in [
            (&self.user_calls, limits.user_calls),
            (&self.day_calls, limits.day_calls),
        ] {
            match (limit, self.calls) {
                (Some(_), Some(taken)) => {
                    counter.give_back(con, taken.saturating_sub(calls)).await?
                }
                _ if calls > 0 => drop(counter.add(con, calls).await?),
                _ => {}
            }
        }
        if tokens > 0 {
            self.user_tokens.add(con, tokens).await?;
            self.day_tokens.add(con, tokens).await?;
        }
        Ok(())
    }

    /// Whether nothing may be asked.
    pub(super) fn is_spent(&self) -> bool {
        self.calls == Some(0) || self.tokens == Some(0)
    }
}
