//! A count that holds its own end: the arithmetic of fixed windows and quotas.

use super::{Ask, Decision, Fraction, MAX_TAKEN, Micros, Outcome};

/// What is remembered of a window: its end, and what was taken in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first instant after the window.
    pub ends_at: Micros,
    /// Tokens taken in it.
    pub taken: u32,
}

/// Decides in the window of `state` or, if that is over, in a new one that
/// would end at `end`.
#[inline(always)]
pub(super) fn decide(
    limit: u32,
    state: Option<Window>,
    end: Micros,
    now: Micros,
    ask: Ask,
) -> Outcome<Window> {
    if limit == 0 {
        return Outcome::of_nothing(ask);
    }
    let mut window = state
        .filter(|window| now < window.ends_at)
        .unwrap_or(Window {
            ends_at: end,
            taken: 0,
        });
    // An end further off than a window that starts now: the clock stepped back.
    let repaired = window.ends_at > end;
    if repaired {
        window.ends_at = end;
    }

    let fits = u64::from(window.taken).saturating_add(ask.cost) <= u64::from(limit);
    let taken = ask.takes(fits);
    if taken {
        window.taken = u64::from(window.taken)
            .saturating_add(ask.cost)
            .min(u64::from(MAX_TAKEN)) as u32;
    }
    let write = taken || (repaired && ask.repairs(fits));

    let left = window.ends_at.since(now);
    let retry_after = if fits {
        Some(Micros::ZERO)
    } else if ask.cost > u64::from(limit) {
        None
    } else {
        Some(left)
    };
    Outcome {
        decision: Decision {
            allowed: fits,
            limit,
            remaining: limit.saturating_sub(window.taken),
            retry_after,
            reset_after: if window.taken > 0 { left } else { Micros::ZERO },
            delay: Micros::ZERO,
        },
        write: write.then_some(window),
    }
}

/// Gives tokens back to a window that is still open.
pub(super) fn give_back(mut window: Window, now: Micros, cost: u64) -> Option<Window> {
    if now >= window.ends_at {
        return None;
    }
    window.taken = u64::from(window.taken).saturating_sub(cost) as u32;
    Some(window)
}

/// What is spent of a window: nothing once it is over.
pub(super) fn spent(window: Window, now: Micros) -> u64 {
    if now < window.ends_at {
        window.taken.into()
    } else {
        0
    }
}

/// A share of what was taken in a window.
pub(super) fn shared(window: Window, share: Fraction) -> Window {
    Window {
        taken: share.scale_up(window.taken),
        ..window
    }
}
