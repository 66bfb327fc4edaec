//! Arguments, telemetry, dispatch: nothing else.

fn main() {}
