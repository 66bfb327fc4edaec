//! Which memories are near enough to be looked at together: an exact cosine threshold join and
//! complete linkage. Pure and deterministic.
